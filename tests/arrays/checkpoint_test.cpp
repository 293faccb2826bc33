// Arrays in files: any number of ranks and any distribution on both sides, and files with invalid
// contents.
#include "tests/arrays/array_test.hpp"
#include "tests/support/run_number.hpp"

#include <lapwing/checkpoint.hpp>

#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace lapwing;

namespace {

/// A file of this test and run, which all ranks know by one name.
class TestFile {
public:
    explicit TestFile(Runtime& runtime) : runtime_{runtime} {
        path_ = (std::filesystem::temp_directory_path() / ("lapwing_checkpoint_" + std::to_string(test::run_number())))
                    .string();
    }
    ~TestFile() {
        if (runtime_.rank() != Rank{0}) return;
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
        std::filesystem::remove(path_ + ".partial", ignored);
    }
    TestFile(const TestFile&) = delete;
    TestFile& operator=(const TestFile&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bool has_partial() const { return std::filesystem::exists(path_ + ".partial"); }
    /// By rank 0, between barriers.
    template <class Change>
    void change(Change change) const {
        runtime_.barrier();
        if (runtime_.rank() == Rank{0}) change();
        runtime_.barrier();
    }
    void overwrite(std::streamoff offset, char byte) const {
        change([&] {
            std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
            file.seekp(offset);
            file.put(byte);
        });
    }

private:
    Runtime& runtime_;
    std::string path_;
};

/// What this rank opens in place of a path: as if another job had given it another file between two ranks.
struct OtherFile {
    std::string instead_of = {};
    std::string path = {};
    int opens = 0; ///< how often
};
OtherFile other_file;

} // namespace

// MPI's profiling interface (MPI 3.1, section 14.2): this takes the place of MPI's own in this program.
int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    const bool other = other_file.opens > 0 && other_file.instead_of == name;
    if (other) --other_file.opens;
    return PMPI_File_open(comm, other ? other_file.path.c_str() : name, mode, info, file);
}

TEST_CASE("an array is loaded under every distribution from a file of every distribution") {
    Runtime runtime;
    const TestFile file{runtime};
    const Extents<2> extents = test::odd_extents<2>();
    test::for_every_maker<test::Particle, 2>(runtime.size(), [&](const test::Maker<test::Particle, 2>& from) {
        GlobalArray<test::Particle, 2> saved = from.make(runtime, extents);
        test::number_elements(saved);
        saved.save(file.path());
        runtime.barrier();
        CHECK(!file.has_partial());
        runtime.barrier();
        test::for_every_maker<test::Particle, 2>(runtime.size(), [&](const test::Maker<test::Particle, 2>& to) {
            GlobalArray<test::Particle, 2> loaded = to.make(runtime, extents);
            loaded.load(file.path());
            CHECK(test::misnumbered(loaded, from.lower_triangle || to.lower_triangle) == "none");
            loaded.close();
        });
        saved.close();
    });
    runtime.close();
}

TEST_CASE("an array is loaded by another number of ranks") {
    Runtime runtime;
    const TestFile file{runtime};
    const Extents<3> extents{40, 70, 101}; // more than a block of a checksum
    const int most = std::min(runtime.size(), 5);
    for (int savers = 1; savers <= most; ++savers)
        for (int loaders = 1; loaders <= most; ++loaders) {
            const auto with = [&](int ranks, auto body) {
                MPI_Comm part = MPI_COMM_NULL;
                MPI_Comm_split(MPI_COMM_WORLD, runtime.rank().value < ranks ? 0 : MPI_UNDEFINED, 0, &part);
                if (part != MPI_COMM_NULL) {
                    {
                        Team team{part, Settings{}};
                        body(team);
                        team.close();
                    }
                    MPI_Comm_free(&part);
                }
                runtime.barrier();
            };
            INFO(savers << " save, " << loaders << " load");
            with(savers, [&](Team& team) {
                GlobalArray<double, 3> array{team, extents, BlockCyclic{{3, 5, 7}}};
                test::number_elements(array, static_cast<std::uint64_t>(savers));
                array.save(file.path());
                array.close();
            });
            with(loaders, [&](Team& team) {
                auto array = GlobalArray<double, 3>::load(team, file.path(), Cyclic{}, {.name = "loaded"});
                CHECK(array.extents() == extents);
                test::Mismatches mismatches;
                array.for_each_local([&](const Index<3>& index, double& element) {
                    mismatches.check(element == test::value_of<double>(static_cast<std::uint64_t>(savers) +
                                                                       test::position_of(extents, index)),
                                     index);
                });
                CHECK(mismatches.text() == "none");
                array.close();
            });
        }
    runtime.close();
}

TEST_CASE("slices are saved and loaded in their own order, and empty arrays, too") {
    Runtime runtime;
    const TestFile file{runtime};
    GlobalArray<std::int32_t, 2> array{runtime, {13, 17}, Block{}};
    GlobalArray<std::int32_t, 2> other{runtime, {9, 13}, Cyclic{}};
    test::number_elements(array);
    other.fill(-1);
    array(all, Range{0, 17}.by(2)).transposed().save(file.path());
    other(reversed(Range{0, 9}), all).load(file.path());
    test::Mismatches mismatches;
    other.for_each_local([&](const Index<2>& index, std::int32_t& element) {
        mismatches.check(
            element == test::value_of<std::int32_t>(static_cast<std::uint64_t>(index[1] * 17 + 2 * (8 - index[0]))),
            index);
    });
    CHECK(mismatches.text() == "none");
    GlobalArray<double, 1> empty{runtime, {0}, Block{}};
    empty.save(file.path());
    empty.load(file.path());
    auto loaded = GlobalArray<double, 1>::load(runtime, file.path());
    CHECK(loaded.size() == 0);
    runtime.barrier();
}

TEST_CASE("a save that fails leaves the file that was there, and says how far it is") {
    Runtime runtime;
    const TestFile file{runtime};
    GlobalArray<double, 1> array{runtime, {std::int64_t{8} * runtime.size() * 3 * 131072}, Block{}, {.name = "long"}};
    array.fill(1);
    std::uint64_t rounds = 0;
    std::uint64_t last = 0;
    array.save(file.path(), {.progress = [&](std::uint64_t done, std::uint64_t everything) {
                   ++rounds;
                   CHECK(done > last);
                   CHECK(everything == array.size() * sizeof(double));
                   last = done;
               }});
    if (runtime.rank() == Rank{0}) {
        CHECK(rounds == 3);
        CHECK(last == array.size() * sizeof(double));
    }
    array.fill(2);
    const auto failing = [&] {
        array.save(file.path(), {.progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error{"enough"}; }});
    };
    if (runtime.rank() == Rank{0}) CHECK_THROWS_WITH(failing(), "enough");
    else CHECK_THAT(test::message_of<FileError>(failing), test::says({"rank 0", "enough", "nothing was saved"}));
    runtime.barrier();
    CHECK(!file.has_partial());
    // What a save that was killed leaves is longer than the next one, and no file of the name.
    file.change([&] {
        std::ofstream{file.path() + ".partial"} << 'x';
        std::filesystem::resize_file(file.path() + ".partial", 100'000'000);
    });
    array.load(file.path());
    CHECK(array.min() == 1);
    CHECK(array.max() == 1);
    array.fill(3);
    array.save(file.path());
    array.fill(4);
    array.load(file.path());
    CHECK(array.min() == 3);
    CHECK_THAT(test::message_of<FileError>([&] { array.save("/no/such/directory/file"); }),
               test::says({"/no/such/directory/file", "cannot open"}));
    array.close();
    runtime.close();
}

TEST_CASE("files that are not what they should be are refused, and the array stays what it was") {
    Runtime runtime;
    const TestFile file{runtime};
    GlobalArray<double, 2> array{runtime, {300, 500}, Block{}, {.name = "kept"}};
    array.fill(7);
    const auto message = [&] {
        std::string text = test::message_of<FileError>([&] { array.load(file.path()); });
        array.barrier();
        return text;
    };
    CHECK_THAT(message(), test::says({file.path(), "cannot open"}));
    file.change([&] { std::ofstream{file.path()} << "hello"; });
    CHECK_THAT(message(), test::says({file.path(), "not a checkpoint"}));
    file.change([&] { std::ofstream{file.path()} << std::string(10'000, 'x'); });
    CHECK_THAT(message(), test::says({"not a checkpoint"}));
    array.save(file.path());
    array.fill(8);
    file.change([&] { std::filesystem::resize_file(file.path(), 300 * 500 * 8); });
    CHECK_THAT(message(), test::says({"cut off", "(300, 500)"}));
    CHECK(array.max() == 8);
    array.save(file.path());
    file.overwrite(40, 'x');
    CHECK_THAT(message(), test::says({"header is damaged"}));
    array.save(file.path());
    {
        GlobalArray<double, 2> shape{runtime, {500, 300}, Block{}};
        CHECK_THAT(test::message_of<FileError>([&] { shape.load(file.path()); }),
                   test::says({"(300, 500)", "(500, 300)"}));
        GlobalArray<std::int64_t, 2> type{runtime, {300, 500}, Block{}};
        CHECK_THAT(test::message_of<FileError>([&] { type.load(file.path()); }),
                   test::says({"floating-point numbers of 8 bytes", "signed integers of 8 bytes"}));
        CHECK_THAT(test::message_of<FileError>([&] { (void)GlobalArray<double, 1>::load(runtime, file.path()); }),
                   test::says({"1 dimensions"}));
        CHECK(shape.max() == 0);
    }
    CHECK(array.max() == 8);
    file.overwrite(4096 + 123456, 'x');
    CHECK_THAT(message(), test::says({"damaged", "checksum"}));
    CHECK_THAT(test::message_of<FileError>([&] { (void)GlobalArray<double, 2>::load(runtime, file.path()); }),
               test::says({"damaged"}));
    array.close();
    runtime.close();
}

TEST_CASE("ranks that name different files, or pass different slices, get an error before a file is touched") {
    Runtime runtime;
    const TestFile file{runtime};
    GlobalArray<double, 1> array{runtime, {100}, Block{}, {.name = "own"}};
    array.fill(1);
    const bool odd = runtime.rank().value % 2 == 1;
    const std::string own = file.path() + (odd ? "_odd" : "");
    if (runtime.size() > 1) {
        const auto says_both =
            test::says({file.path() + "\"", file.path() + "_odd\"", "rank 0", "rank 1", "same on all ranks"});
        CHECK_THAT(test::message_of<MismatchError>([&] { array.save(own); }), says_both);
        runtime.barrier();
        CHECK_FALSE(std::filesystem::exists(own));
        CHECK_FALSE(std::filesystem::exists(own + ".partial"));
        array.save(file.path());
        array.fill(2);
        CHECK_THAT(test::message_of<MismatchError>([&] { array.load(own); }), says_both);
        CHECK_THAT(test::message_of<MismatchError>([&] { (void)GlobalArray<double, 1>::load(runtime, own); }),
                   says_both);
        CHECK_THAT(test::message_of<MismatchError>([&] { array(Range{0, odd ? 9 : 10}).save(file.path()); }),
                   test::says({"[0, 9)", "[0, 10)"}));
        CHECK(array.max() == 2);
        array.load(file.path());
        CHECK(array.max() == 1);
    }
    array.close();
    runtime.close();
}

TEST_CASE("a save through a link replaces what it leads to, and one to a directory is refused") {
    Runtime runtime;
    const TestFile file{runtime};
    namespace fs = std::filesystem;
    const std::string directory = file.path() + "_directory";
    const std::string link = directory + "/link";
    file.change([&] {
        fs::create_directory(directory);
        fs::create_symlink("second", link);
        fs::create_symlink(file.path(), directory + "/second");
    });
    GlobalArray<double, 1> array{runtime, {100}, Block{}};
    array.fill(1);
    array.save(link); // there is no file yet
    array.fill(2);
    array.load(file.path());
    CHECK(array.max() == 1);
    array.fill(3);
    array.save(link);
    array.fill(4);
    array.load(link);
    CHECK(array.max() == 3);
    runtime.barrier();
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_symlink(directory + "/second"));
    CHECK_FALSE(fs::is_symlink(file.path()));
    for (const std::string& name : {directory, directory + "/", std::string{"/dev/null"}, std::string{}}) {
        CHECK_THAT(test::message_of<FileError>([&] { array.save(name); }),
                   test::says({"nothing was saved", "file"}) || test::says({"pass the name"}));
        CHECK_THROWS_AS(array.load(name), FileError);
    }
    CHECK_THAT(test::message_of<FileError>([&] { array.save(directory); }), test::says({"is a directory"}));
    file.change([&] { fs::create_symlink("loop", directory + "/loop"); });
    CHECK_THAT(test::message_of<FileError>([&] { array.save(directory + "/loop"); }), test::says({"leads nowhere"}));
    CHECK_FALSE(fs::exists(directory + ".partial"));
    CHECK_FALSE(fs::exists(file.path() + ".partial.lock"));
    runtime.barrier();
    file.change([&] { fs::remove_all(directory); });
    array.close();
    runtime.close();
}

TEST_CASE("of two saves to one path at a time the second is refused") {
    Runtime runtime;
    const TestFile file{runtime};
    Team alone{MPI_COMM_SELF, runtime.settings()};
    GlobalArray<double, 1> array{alone, {100}, Block{}};
    array.fill(1 + runtime.rank().value);
    if (runtime.rank() == Rank{0}) {
        array.save(file.path(), {.progress = [](std::uint64_t, std::uint64_t) {
                       MPI_Barrier(MPI_COMM_WORLD);
                       MPI_Barrier(MPI_COMM_WORLD); // the others have tried
                   }});
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_THAT(test::message_of<FileError>([&] { array.save(file.path()); }),
                   test::says({"another job", file.path(), "another path"}));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    array.load(file.path());
    CHECK(array.max() == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    // A save that was killed blocks no other.
    file.change([&] { std::ofstream{file.path() + ".partial.lock"} << ""; });
    if (runtime.rank().value == runtime.size() - 1) array.save(file.path());
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_FALSE(std::filesystem::exists(file.path() + ".partial.lock"));
    array.close();
    alone.close();
    runtime.close();
}

TEST_CASE("ranks that open different saves of one path open it again, and load one of them") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    const TestFile file{runtime};
    // More than what one rank reads.
    GlobalArray<double, 1> array{runtime, {1'200'000}, Block{}};
    for (const double value : {1.0, 2.0}) {
        array.fill(value);
        array.save(file.path());
        if (value == 1) file.change([&] { std::filesystem::copy_file(file.path(), file.path() + ".earlier"); });
    }
    const std::string earlier = file.path() + ".earlier";
    const bool late = runtime.rank() == Rank{0};
    array.fill(0);
    other_file = {.instead_of = file.path(), .path = earlier, .opens = late ? 0 : 2};
    array.load(file.path());
    CHECK(array.min() == 2);
    CHECK(array.max() == 2);
    array.fill(0);
    other_file.opens = late ? 0 : 1000;
    CHECK_THAT(test::message_of<FileError>([&] { array.load(file.path()); }),
               test::says({"different saves", file.path(), "nothing was loaded"}));
    CHECK(array.max() == 0);
    other_file = {};
    array.load(file.path());
    CHECK(array.min() == 2);
    file.change([&] { std::filesystem::remove(earlier); });
    array.close();
    runtime.close();
}
