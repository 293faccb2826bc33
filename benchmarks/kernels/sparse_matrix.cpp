#include "sparse_matrix.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

namespace lapwing::detail::kernels {
namespace {

/// A row costs eight bytes whether it has entries or not, and a line of a small file must not ask for all memory: 1
/// GiB.
constexpr std::int64_t max_rows = std::int64_t{1} << 27;

struct Entry {
    std::int64_t row;
    std::int64_t column;
    double value;
};

/// Reads a Matrix Market file line by line, and knows where it is for messages.
class MatrixMarketReader {
public:
    explicit MatrixMarketReader(const std::string& file) : in_{file}, file_{file} {
        if (!in_)
            throw FileError{
                fmt::format("{}: cannot be read ({}); expected a Matrix Market file", file, std::strerror(errno))};
    }

    SparseMatrix read() {
        const bool symmetric = read_banner();
        do {
            next_line("the numbers of rows, columns and entries");
        } while (line_.starts_with('%') || line_.find_first_not_of(" \t\r") == std::string::npos);
        rest_ = line_;
        SparseMatrix matrix;
        matrix.rows = number<std::int64_t>("number of rows");
        matrix.columns = number<std::int64_t>("number of columns");
        const auto count = number<std::int64_t>("number of entries");
        if (matrix.rows < 0 || matrix.columns < 0 || count < 0) fail("a size is negative", "three sizes");
        end_of_line("the number of entries");
        if (matrix.rows > max_rows) fail(fmt::format("{} rows", matrix.rows), fmt::format("at most {}", max_rows));
        if (symmetric && matrix.rows != matrix.columns)
            fail(fmt::format("{} x {} is not square", matrix.rows, matrix.columns), "a square symmetric matrix");

        std::vector<Entry> entries;
        for (std::int64_t k = 0; k < count; ++k) {
            next_line(fmt::format("{} entries, {} are there", count, k).c_str());
            rest_ = line_;
            Entry entry{};
            entry.row = number<std::int64_t>("row") - 1; // the file counts from 1
            entry.column = number<std::int64_t>("column") - 1;
            entry.value = number<double>("value");
            end_of_line("the value");
            if (entry.row < 0 || entry.row >= matrix.rows || entry.column < 0 || entry.column >= matrix.columns)
                fail(fmt::format("entry ({}, {}) is outside the matrix", entry.row + 1, entry.column + 1),
                     fmt::format("rows 1 to {} and columns 1 to {}", matrix.rows, matrix.columns));
            entries.push_back(entry);
            if (symmetric && entry.row != entry.column) entries.push_back({entry.column, entry.row, entry.value});
        }
        compress(matrix, entries);
        return matrix;
    }

private:
    /// Returns whether only one triangle is stored.
    bool read_banner() {
        constexpr std::string_view expected =
            "\"%%MatrixMarket matrix coordinate real|integer general|symmetric\" on line 1";
        next_line("a Matrix Market banner");
        std::ranges::transform(line_, line_.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
        for (const std::string_view field : {"real", "integer"})
            for (const std::string_view symmetry : {"general", "symmetric"}) {
                const std::string banner = fmt::format("%%matrixmarket matrix coordinate {} {}", field, symmetry);
                if (line_ == banner || line_ == banner + "\r") return symmetry == "symmetric";
            }
        fail("another format", expected);
    }

    void next_line(const char* expected) {
        ++line_number_;
        if (!std::getline(in_, line_)) fail("the file ends", expected);
    }

    template <class T>
    T number(const char* what) {
        const auto start = rest_.find_first_not_of(" \t");
        T value{};
        if (start == std::string_view::npos) fail(fmt::format("no {}", what), "a number");
        rest_.remove_prefix(start);
        if (rest_.starts_with('+')) rest_.remove_prefix(1); // which from_chars refuses
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error != std::errc{}) fail(fmt::format("the {} is \"{}\"", what, rest_.substr(0, 20)), "a number");
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }

    void end_of_line(const char* after) const {
        const auto start = rest_.find_first_not_of(" \t\r");
        if (start != std::string_view::npos)
            fail(fmt::format("\"{}\" after {}", rest_.substr(start, 20), after), "the end of the line");
    }

    [[noreturn]] void fail(std::string_view found, std::string_view expected) const {
        throw FileError{fmt::format("{}, line {}: {}; expected {}", file_, line_number_, found, expected)};
    }

    static void compress(SparseMatrix& matrix, std::vector<Entry>& entries) {
        std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
            return a.row != b.row ? a.row < b.row : a.column < b.column;
        });
        matrix.row_start.assign(static_cast<std::size_t>(matrix.rows) + 1, 0);
        matrix.column.reserve(entries.size());
        matrix.value.reserve(entries.size());
        for (const Entry& entry : entries) {
            ++matrix.row_start[static_cast<std::size_t>(entry.row) + 1];
            matrix.column.push_back(entry.column);
            matrix.value.push_back(entry.value);
        }
        for (std::size_t i = 1; i < matrix.row_start.size(); ++i) matrix.row_start[i] += matrix.row_start[i - 1];
    }

    std::ifstream in_;
    const std::string& file_;
    std::string line_;
    std::string_view rest_;
    std::int64_t line_number_ = 0;
};

} // namespace

SparseMatrix read_matrix_market(const std::string& file) { return MatrixMarketReader{file}.read(); }

SparseMatrix rows_of(const SparseMatrix& matrix, const Range& rows) {
    SparseMatrix part;
    part.columns = matrix.columns;
    if (rows.empty()) return part;
    part.rows = static_cast<std::int64_t>(rows.size());
    const auto first_row = static_cast<std::size_t>(rows.first());
    const std::size_t first = matrix.row_start[first_row];
    const std::size_t last = matrix.row_start[first_row + rows.size()];
    part.row_start.clear();
    for (std::size_t i = 0; i <= rows.size(); ++i) part.row_start.push_back(matrix.row_start[first_row + i] - first);
    part.column.assign(matrix.column.begin() + static_cast<std::ptrdiff_t>(first),
                       matrix.column.begin() + static_cast<std::ptrdiff_t>(last));
    part.value.assign(matrix.value.begin() + static_cast<std::ptrdiff_t>(first),
                      matrix.value.begin() + static_cast<std::ptrdiff_t>(last));
    return part;
}

} // namespace lapwing::detail::kernels
