// Matrix Market files, valid and invalid.
#include "sparse_matrix.hpp"

#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

using lapwing::FileError;
using lapwing::detail::kernels::SparseMatrix;

namespace {

class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& text) {
        const int descriptor = mkstemp(name_.data());
        REQUIRE(descriptor >= 0);
        close(descriptor);
        std::ofstream{name_} << text;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::remove(name_.c_str()); }

    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_ = "/tmp/matrix_market_test.XXXXXX";
};

SparseMatrix read(const std::string& text) {
    const TemporaryFile file{text};
    return lapwing::detail::kernels::read_matrix_market(file.name());
}

const std::string banner = "%%MatrixMarket matrix coordinate real general\n";

void check_refused(const std::string& body, int line, const std::string& says) {
    INFO(body);
    const TemporaryFile file{banner + body};
    CHECK_THROWS_WITH(lapwing::detail::kernels::read_matrix_market(file.name()),
                      Catch::StartsWith(file.name() + ", line " + std::to_string(line) + ": ") &&
                          Catch::Contains(says));
}

} // namespace

TEST_CASE("a matrix is read row by row, whatever the order of its entries") {
    const SparseMatrix matrix = read(banner + "% a comment\n\n 3 4 4 \r\n3 1 -2\n1 4 1e1\n1 2\t+3.5  \r\n3 3 7\n");
    CHECK(matrix.rows == 3);
    CHECK(matrix.columns == 4);
    CHECK(matrix.row_start == decltype(matrix.row_start){0, 2, 2, 4});
    CHECK(matrix.column == decltype(matrix.column){1, 3, 0, 2});
    CHECK(matrix.value == std::vector<double>{3.5, 10, -2, 7});
}

TEST_CASE("of a symmetric matrix one triangle is stored") {
    const SparseMatrix matrix = read("%%MatrixMarket MATRIX coordinate integer symmetric\n2 2 2\n1 1 5\n2 1 6\n");
    CHECK(matrix.row_start == decltype(matrix.row_start){0, 2, 3});
    CHECK(matrix.value == std::vector<double>{5, 6, 6});
}

TEST_CASE("what is wrong with a file is said with its name and line") {
    check_refused("2 2\n", 2, "no number of entries");
    check_refused("2 2 1 1\n1 1 1\n", 2, "\"1\" after the number of entries");
    check_refused("99999999999999 2 1\n1 1 1\n", 2, "99999999999999 rows");
    check_refused("2 -2 1\n", 2, "negative");
    check_refused("2 2 1\n3 1 1\n", 3, "(3, 1) is outside");
    check_refused("2 2 1\n1 1 1 7\n", 3, "\"7\" after the value");
    check_refused("2 2 1\n1 1 1.5x\n", 3, "\"x\" after the value");
    check_refused("2 2 1\n1 one 1\n", 3, "the column is \"one 1\"");
    check_refused("2 2 2\n1 1 1\n", 4, "2 entries, 1 are there");
    CHECK_THROWS_WITH(read("%%MatrixMarket matrix array real general\n1 1\n1\n"), Catch::Contains("another format"));
    CHECK_THROWS_WITH(lapwing::detail::kernels::read_matrix_market("/nowhere/at.all"),
                      Catch::Contains("/nowhere/at.all") && Catch::Contains("cannot be read"));
}
