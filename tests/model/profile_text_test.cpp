// Profiles as text: what was written is read back, and everything else is refused with a reason.
#include "model/profile.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;

namespace {

const ProfileKey key{"some processor, 8 cores", "Some MPI 4.0", "one machine, progress thread, UCX_TLS=tcp"};

CostTables some_tables() {
    CostTables tables;
    tables.copy.block[3] = 1.25e-9;
    tables.copy.cache_bytes = 123456;
    tables.choices = {
        {.where = {.movement = detail::kernels::Movement::scatter,
                   .block = detail::kernels::BlockClass::b5_to_7,
                   .stride = detail::kernels::StrideClass::indexed,
                   .size = detail::kernels::SizeClass::last_level,
                   .reuse = detail::kernels::Reuse::never},
         .method = detail::kernels::Method::moves_ahead},
        {.where = {.block = detail::kernels::BlockClass::b4097_up}, .method = detail::kernels::Method::library}};
    TransferModel model{std::vector<TransferLine>{{0, 1e-6, 2e-6, 3e-7, 4e-10, 5e-8, 6e-11},
                                                  {4097, 7e-6, 8e-6, 9e-7, 1e-10, 0, 0, 3e-10, 5e-6}},
                        {.largest = 4096, .room = 8000, .head = 48}};
    model.set_overlap(0.75);
    tables.transfers(Path::rma, Direction::put) = model;
    model.scale(2);
    tables.transfers(Path::service, Direction::get) = model;
    tables.rates["service.baseline.read"] = RateCurve{{{16, 2e-5}, {4096, 1.5e-5}}};
    return tables;
}

bool is_read(const std::string& text, const ProfileKey& for_key = key) {
    std::string problem;
    const bool read = parse_profile(text, for_key, problem).has_value();
    CHECK(read == problem.empty()); // a refusal has a reason
    return read;
}

/// The text with its checksum made right again, so that what the checksum cannot see is tested.
std::string sealed(std::string text) {
    text.resize(text.rfind("checksum = "));
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    char line[40];
    std::snprintf(line, sizeof line, "checksum = %016llx\n", static_cast<unsigned long long>(hash));
    return text + line;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return sealed(text.replace(at, from.size(), to));
}

} // namespace

TEST_CASE("a profile is read back as it was written") {
    std::string problem;
    const auto tables = parse_profile(to_text(key, some_tables()), key, problem);
    REQUIRE(tables.has_value());
    CHECK(tables->copy.block[3] == 1.25e-9);
    CHECK(tables->copy.cache_bytes == 123456);
    CHECK(tables->choices == some_tables().choices);
    const TransferModel& put = tables->transfers(Path::rma, Direction::put);
    REQUIRE(put.lines().size() == 2);
    CHECK(put.overlap() == 0.75);
    CHECK(put.lines()[1].begin_bytes == 4097);
    CHECK(put.lines()[0].batch_latency == 2e-6);
    CHECK(put.lines()[0].issue_per_byte == 6e-11);
    CHECK(put.lines()[1].latency_per_byte == 3e-10);
    CHECK(put.lines()[1].message == 5e-6);
    CHECK(put.aggregation() == Aggregation{.largest = 4096, .room = 8000, .head = 48});
    CHECK(tables->transfers(Path::service, Direction::get).lines()[0].latency == 2e-6);
    CHECK(tables->transfers(Path::service, Direction::get).lines()[1].latency_per_byte == 6e-10);
    CHECK(tables->transfers(Path::service, Direction::get).lines()[1].message == 10e-6);
    CHECK(tables->transfers(Path::rma, Direction::get).empty());
}

TEST_CASE("a model of transfers that seem to take no time of their own is stored and read back") {
    // The service path sends what waits for an answer together: 16 of 8 bytes take as long as 2.
    std::vector<TransferSample> samples;
    for (std::uint64_t bytes = 8; bytes <= 64; bytes *= 2)
        for (const std::uint64_t operations : {1U, 4U, 16U})
            samples.push_back(
                {bytes, operations, operations == 1 ? 16e-6 : 31e-6, 0.7e-6 * static_cast<double>(operations)});
    CostTables tables;
    tables.transfers(Path::service, Direction::get) = fit_transfers(samples);
    REQUIRE(is_read(to_text(key, tables)));
    CHECK(tables.transfers(Path::service, Direction::get).time(8, 1'000'000) > 0.1); // seconds
}

TEST_CASE("a profile of another machine, MPI or network is refused") {
    const std::string text = to_text(key, some_tables());
    CHECK(is_read(text));
    CHECK_FALSE(is_read(text, {"another", key.mpi, key.network}));
    CHECK_FALSE(is_read(text, {key.machine, "another", key.network}));
    CHECK_FALSE(is_read(text, {key.machine, key.mpi, "another"}));
}

TEST_CASE("a profile that was cut off anywhere is refused") {
    const std::string text = to_text(key, some_tables());
    for (std::size_t size = 0; size < text.size(); ++size) REQUIRE_FALSE(is_read(text.substr(0, size)));
    CHECK_FALSE(is_read(text + "more\n"));
}

TEST_CASE("a profile with a byte changed anywhere is refused") {
    const std::string text = to_text(key, some_tables());
    for (std::size_t at = 0; at < text.size(); ++at)
        for (const char change : {'\1', '\x20'}) {
            std::string damaged = text;
            damaged[at] = static_cast<char>(damaged[at] ^ change);
            REQUIRE_FALSE(is_read(damaged));
        }
}

TEST_CASE("random bytes are refused") {
    std::mt19937 random{3};
    std::uniform_int_distribution<int> byte{0, 255};
    for (int i = 0; i < 200; ++i) {
        std::string text = i % 2 == 0 ? "" : "lapwing-profile 4\n";
        for (int n = 0; n < 40 * i; ++n) text += static_cast<char>(byte(random));
        REQUIRE_FALSE(is_read(text));
        REQUIRE_FALSE(is_read(text + "\nchecksum = 0\n"));
    }
}

TEST_CASE("numbers that are no times are refused even where the checksum is right") {
    const std::string text = to_text(key, some_tables());
    CHECK(is_read(sealed(text)));
    CHECK(is_read(with(text, "copy.block.8 = 1.25e-09", "copy.block.8 = 1.5e-09")));
    for (const char* const value :
         {"nan", "-nan", "inf", "-1e-9", "1e9", "1e999", "", " ", "1e-9 ", "1e-9x", "0x1p-3", "--1"}) {
        INFO(value);
        CHECK_FALSE(is_read(with(text, "copy.block.8 = 1.25e-09", std::string{"copy.block.8 = "} + value)));
    }
    CHECK_FALSE(is_read(with(text, "overlap = 0.75", "overlap = 1.5")));
    CHECK_FALSE(is_read(with(text, "overlap = 0.75", "overlap = -0.1")));
    CHECK_FALSE(is_read(with(text, "cache_bytes = 123456", "cache_bytes = 0")));
    CHECK_FALSE(is_read(with(text, "cache_bytes = 123456", "cache_bytes = 99999999999999999999999")));
    CHECK_FALSE(is_read(with(text, "piece.0 = 0 ", "piece.0 = 1 ")));            // nothing says what is below
    CHECK_FALSE(is_read(with(text, "piece.1 = 4097 ", "piece.1 = 0 ")));         // not in order
    CHECK_FALSE(is_read(with(text, "piece.1 = 4097 ", "piece.1 = -4097 ")));     // no size
    CHECK_FALSE(is_read(with(text, "piece.1 = 4097 ", "piece.2 = 4097 ")));      // one is missing
    CHECK_FALSE(is_read(with(text, "piece.1 = 4097 ", "piece.1 = 4097 1e-6 "))); // one number too many
    CHECK_FALSE(is_read(with(text, "= moves-ahead", "= moved-ahead")));
    CHECK_FALSE(is_read(with(text, "choice.scatter.5-7.", "choice.scatter.5-8.")));
    CHECK_FALSE(is_read(with(text, "choice.scatter.5-7.", "choice.scatter.")));
    CHECK_FALSE(is_read(with(text, "choice.scatter.5-7.", "choice.scatter.5-7.5-7.")));
    CHECK_FALSE(is_read(with(text, "last-level.never", "last-level.never.")));
    CHECK_FALSE(is_read(with(text, "aggregation = 4096 8000 48", "aggregation = 8000 8000 48"))); // does not fit
    CHECK_FALSE(is_read(with(text, "aggregation = 4096 8000 48", "aggregation = 4096 8000 0")));
    CHECK_FALSE(is_read(with(text, "aggregation = 4096 8000 48", "aggregation = 0 18446744073709551615 48")));
    CHECK_FALSE(is_read(with(text, "aggregation = 4096 8000 48", "aggregation = 4096 8000")));
    CHECK_FALSE(is_read(with(text, "aggregation = 4096 8000 48", "aggregation = 4096 8000 48 1")));
    CHECK(is_read(with(text, "aggregation = 4096 8000 48", "aggregation = 0 0 0")));
    CHECK_FALSE(is_read(with(text, " 3e-10 5e-06", " -3e-10 5e-06")));
    CHECK_FALSE(is_read(with(text, " 3e-10 5e-06", " 3e-10 500")));
    CHECK_FALSE(is_read(with(text, "3e-07 4e-10", "0 0"))); // takes no time at all
}

TEST_CASE("lines too many or too few are refused even where the checksum is right") {
    const std::string text = to_text(key, some_tables());
    CHECK_FALSE(is_read(with(text, "copy.call", "copy.cell")));
    CHECK_FALSE(is_read(with(text, "copy.call", "unknown = 1\ncopy.call")));
    CHECK_FALSE(is_read(with(text, "copy.call", "\ncopy.call")));
    CHECK_FALSE(is_read(with(text, "copy.call", "copy.block.8 = 1e-9\ncopy.call"))); // twice
    CHECK_FALSE(is_read(with(text, "transfer.rma.put.overlap = 0.75\n", "")));
    CHECK_FALSE(is_read(with(text, "transfer.rma.put.aggregation = 4096 8000 48\n", "")));
    CHECK_FALSE(is_read(with(text, "lapwing-profile 4", "lapwing-profile 3")));
}
