#include "datatype/mpi_sizes.hpp"
#include "datatype/random_layout.hpp"
#include "datatype/type_program.hpp"

#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <mpi.h>

#include <random>

using lapwing::ByteBlock;
using lapwing::Layout;
using lapwing::MpiDatatype;

namespace {

/// Commits, and owns.
MpiDatatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return MpiDatatype{type};
}

MPI_Datatype vector(int count, int length, int stride, MPI_Datatype inner) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, length, stride, inner, &type);
    return type;
}

} // namespace

TEST_CASE("random nested datatypes are imported and exported as MPI_Pack sees them") {
    std::mt19937 random{17};
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::uint8_t> program(std::uniform_int_distribution<std::size_t>{4, 90}(random));
        for (std::uint8_t& byte : program) byte = static_cast<std::uint8_t>(random());
        const std::string wrong = test::check_type_program(program);
        INFO("round " << round);
        REQUIRE(wrong == "");
    }
}

TEST_CASE("regular datatypes stay compact") {
    const MpiDatatype column = committed(vector(1'000'000, 1, 1000, MPI_DOUBLE));
    CHECK(Layout::from_mpi(column.get()) == Layout::strided(1'000'000, 8, 8000));
    CHECK(Layout::from_mpi(column.get()).level_count() == 1);
    const int sizes[3] = {1000, 1000, 1000};
    const int subsizes[3] = {999, 998, 997};
    const int starts[3] = {1, 1, 1};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &type);
    const MpiDatatype box = committed(type);
    const Layout layout = Layout::from_mpi(box.get(), 100);
    CHECK(layout.level_count() == 3);
    CHECK(layout.bytes() == 100 * 999ULL * 998 * 997 * 4);
    CHECK(layout.lower() == 4 * 1'001'001);
    // An array of structures is its structure, repeated.
    const int lengths[2] = {1, 3};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, types, &type);
    const MpiDatatype structure = committed(type);
    const Layout structures = Layout::from_mpi(structure.get(), 1'000'000);
    CHECK(structures.level_count() == 2);
    // The doubles of one meet the character of the next.
    CHECK(structures.block_count() == 1'000'001);
    CHECK(Layout::from_mpi(MPI_DOUBLE_INT, 3) == Layout::strided(3, 12, 16));
    CHECK(Layout::from_mpi(MPI_SHORT_INT) == Layout::list(std::vector<ByteBlock>{{0, 2}, {4, 4}}));
    CHECK(Layout::from_mpi(MPI_INT, 0).empty());
}

TEST_CASE("bytes in reverse order") {
    // A stride of -1 byte, which Open MPI 4.1 does not get right: import and export do.
    for (const int count : {2, 3, 6, 7}) {
        const Layout reversed = Layout::strided(static_cast<std::uint64_t>(count), 1, -1, count - 1);
        CHECK(Layout::from_mpi(committed(vector(count, 1, -1, MPI_CHAR)).get()).shift(count - 1) == reversed);
        const MpiDatatype type = reversed.to_mpi();
        const std::string text = std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(count));
        std::string packed(text.size(), ' ');
        int position = 0;
        MPI_Pack(text.data(), 1, type.get(), packed.data(), count, &position, MPI_COMM_SELF);
        CHECK(packed == std::string(text.rbegin(), text.rend()));
        CHECK(Layout::from_mpi(type.get()) == reversed);
    }
}

TEST_CASE("complex numbers at a stride of one and a half are read as the standard has them") {
    // Which Open MPI 5.0.7 itself packs wrongly.
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(3, 1, 24, MPI_C_DOUBLE_COMPLEX, &type);
    CHECK(Layout::from_mpi(committed(type).get()) == Layout::strided(3, 16, 24));
}

TEST_CASE("counts above 2^31 are exact") {
    const std::uint64_t large = (std::uint64_t{1} << 33) + 5;
    CHECK(Layout::from_mpi(MPI_DOUBLE, static_cast<std::int64_t>(large)) == Layout::contiguous(8 * large));
    CHECK(Layout::from_mpi(Layout::contiguous(8 * large, -3).to_mpi().get()) == Layout::contiguous(8 * large, -3));
    const Layout strided = Layout::strided(large, 4, 12);
    const MpiDatatype type = strided.to_mpi();
    CHECK(static_cast<std::uint64_t>(lapwing::detail::datatype::mpi_size(type.get())) == 4 * large);
    CHECK(static_cast<std::uint64_t>(lapwing::detail::datatype::mpi_extent(type.get()).extent) == strided.span());
    CHECK_THROWS_AS(Layout::from_mpi(MPI_DOUBLE, std::int64_t{1} << 61), lapwing::RangeError);
    // Between shorter blocks, which stay on its two sides.
    const Layout mixed = Layout::list(std::vector<ByteBlock>{{0, 3}, {8, 5}, {1000, large}, {100, 7}});
    CHECK(Layout::from_mpi(mixed.to_mpi().get()) == mixed);
    const MpiDatatype wide = committed(vector(2, 1, 1 << 30, MPI_DOUBLE));
    CHECK_THROWS_AS(Layout::from_mpi(wide.get(), std::int64_t{1} << 40), lapwing::RangeError);
}

#if MPI_VERSION >= 4
TEST_CASE("datatypes made with large counts") {
    const auto layout_of = [](const MpiDatatype& type, std::int64_t count = 1) {
        return Layout::from_mpi(type.get(), count);
    };
    const MPI_Count large = (MPI_Count{1} << 33) + 5;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector_c(large, 1, 3, MPI_INT, &type);
    CHECK(layout_of(committed(type)) == Layout::strided(static_cast<std::uint64_t>(large), 4, 12));
    const MPI_Count lengths[2] = {2, 3};
    const MPI_Count places[2] = {100, 0};
    const MPI_Datatype types[2] = {MPI_CHAR, MPI_INT};
    MPI_Type_create_struct_c(2, lengths, places, types, &type);
    CHECK(layout_of(committed(type)) == Layout::list(std::vector<ByteBlock>{{100, 2}, {0, 12}}));
    MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type);
    CHECK(layout_of(committed(type)) == Layout::list(std::vector<ByteBlock>{{100, 8}, {0, 12}}));
    MPI_Type_create_hindexed_block_c(2, 3, places, MPI_INT, &type);
    CHECK(layout_of(committed(type)) == Layout::list(std::vector<ByteBlock>{{100, 12}, {0, 12}}));
    MPI_Type_create_resized_c(MPI_INT, -4, 100, &type);
    CHECK(layout_of(committed(type), 3) == Layout::strided(3, 4, 100));
    const MPI_Count sizes[2] = {large, 6};
    const MPI_Count subsizes[2] = {3, 2};
    const MPI_Count starts[2] = {1, 2};
    MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    CHECK(layout_of(committed(type)) == Layout::strided(3, 8, 24, 32));
    MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    CHECK(layout_of(committed(type)) == Layout::strided(2, 12, 4 * large, 4 * (2 * large + 1)));
    const int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    const int processes[2] = {2, 2};
    const MPI_Count global[2] = {4, 6};
    MPI_Type_create_darray_c(4, 3, 2, global, kinds, arguments, processes, MPI_ORDER_C, MPI_INT, &type);
    CHECK(layout_of(committed(type)) == Layout::strided(2, 8, 24, 56));
}
#endif

TEST_CASE("datatypes that cannot be used are errors that say what to do") {
    CHECK_THROWS_AS(Layout::from_mpi(MPI_DATATYPE_NULL), lapwing::UsageError);
    CHECK_THROWS_WITH(Layout::from_mpi(MPI_DATATYPE_NULL),
                      Catch::StartsWith("rank 0 of 1 of MPI_COMM_WORLD") && Catch::Contains("MPI_DATATYPE_NULL"));
    const MpiDatatype uncommitted{vector(3, 1, 2, MPI_INT)};
    CHECK_THROWS_AS(Layout::from_mpi(uncommitted.get()), lapwing::UsageError);
    CHECK_THROWS_WITH(Layout::from_mpi(uncommitted.get()), Catch::Contains("call MPI_Type_commit"));
    CHECK_THROWS_AS(Layout::from_mpi(MPI_INT, -1), lapwing::RangeError);
    CHECK_THROWS_WITH(Layout::from_mpi(MPI_INT, -1), Catch::Contains("the count is -1; counts are 0 or more"));
}

TEST_CASE("a datatype in a layout is not freed, nor its parts") {
    MPI_Datatype inner = vector(3, 1, 2, MPI_INT);
    MPI_Datatype outer = vector(2, 1, 5, inner);
    MPI_Type_commit(&outer);
    const Layout first = Layout::from_mpi(outer);
    for (int round = 0; round < 100; ++round) REQUIRE(Layout::from_mpi(outer) == first);
    MPI_Type_commit(&inner);
    CHECK(Layout::from_mpi(inner) == Layout::strided(3, 4, 8));
    MPI_Type_free(&inner);
    CHECK(Layout::from_mpi(outer) == first);
    MPI_Type_free(&outer);
    CHECK(first.bytes() == 24);
}
