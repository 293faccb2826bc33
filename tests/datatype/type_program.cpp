#include "datatype/type_program.hpp"

#include "datatype/mpi_sizes.hpp"
#include "datatype/random_layout.hpp"

#include <lapwing/layout.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace test {

namespace {

constexpr MPI_Count most_bytes = 20'000;
constexpr MPI_Count most_span = 1'000'000;
/// Open MPI 4.1 takes a stride of -1 byte for "as far as the extent", and packs other bytes than those of the standard.
constexpr MPI_Count unusable_stride = -1;

using lapwing::Layout;
using lapwing::MpiDatatype;
using lapwing::detail::datatype::mpi_extent;
using lapwing::detail::datatype::mpi_size;
using lapwing::detail::datatype::mpi_true_extent;
using lapwing::detail::datatype::MpiRange;

struct Extents {
    MPI_Count bytes = 0;
    MPI_Count extent = 0;
    MPI_Count true_lower = 0;
    MPI_Count true_extent = 0;
};

Extents extents_of(MPI_Datatype type) {
    const MpiRange data = mpi_true_extent(type);
    return {mpi_size(type), mpi_extent(type).extent, data.lower, data.extent};
}

/// Open MPI 5.0.7 packs other bytes of complex numbers than those of the standard where their distances are no
/// multiples of a number, with whichever constructor.
bool packs_complex_at_any_stride() {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(2, 1, 24, MPI_C_DOUBLE_COMPLEX, &made);
    MPI_Type_commit(&made);
    const MpiDatatype type{made};
    const std::array<double, 5> memory{0, 1, 2, 3, 4};
    std::array<double, 4> packed{};
    int place = 0;
    MPI_Pack(memory.data(), 1, type.get(), packed.data(), sizeof packed, &place, MPI_COMM_SELF);
    return packed == std::array<double, 4>{0, 1, 3, 4};
}
/// MPICH 5.0.2 packs other bytes than those of the standard from the second element on, where elements consist of
/// several indexed ones with a negative extent.
bool packs_negative_extents() {
    const std::array<int, 2> places{0, 2};
    MPI_Datatype indexed = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(2, 1, places.data(), MPI_INT, &indexed);
    const MpiDatatype two_numbers{indexed};
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(indexed, 0, -static_cast<MPI_Aint>(sizeof(int)), &resized);
    const MpiDatatype backward{resized};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, resized, &made);
    MPI_Type_commit(&made);
    const MpiDatatype type{made}; // whose own extent is 0
    const std::array<int, 4> memory{0, 1, 2, 3};
    std::array<int, 8> packed{};
    int place = 0;
    MPI_Pack(&memory[1], 2, type.get(), packed.data(), sizeof packed, &place, MPI_COMM_SELF);
    return packed == std::array<int, 8>{1, 3, 0, 2, 1, 3, 0, 2};
}
/// The place of every byte in the order in which MPI packs them: a buffer is packed once for each digit of the places.
Flat packed_order(MPI_Datatype type, int count) {
    const Extents extents = extents_of(type);
    const auto bytes = static_cast<std::size_t>(extents.bytes * count);
    if (bytes == 0) return {};
    const MPI_Count last = extents.extent * (count - 1);
    const MPI_Count lower = extents.true_lower + std::min<MPI_Count>(0, last);
    const MPI_Count upper = extents.true_lower + extents.true_extent + std::max<MPI_Count>(0, last);
    const auto span = static_cast<std::size_t>(upper - lower);
    std::vector<std::uint8_t> buffer(span);
    std::vector<std::uint8_t> packed(bytes);
    // As a number: the base may lie outside of the buffer.
    const auto base = reinterpret_cast<std::uintptr_t>(buffer.data()) - static_cast<std::uintptr_t>(lower);
    Flat order(bytes, lower);
    for (unsigned digit = 0; digit < 3; ++digit) {
        for (std::size_t i = 0; i < span; ++i) buffer[i] = static_cast<std::uint8_t>(i >> (8 * digit));
        int position = 0;
        MPI_Pack(reinterpret_cast<const void*>(base), count, type, packed.data(), static_cast<int>(bytes), &position,
                 MPI_COMM_SELF);
        if (position != static_cast<int>(bytes)) return {};
        for (std::size_t i = 0; i < bytes; ++i) order[i] += static_cast<std::int64_t>(packed[i]) << (8 * digit);
    }
    return order;
}

} // namespace

int TypeProgram::number(int low, int high) {
    if (bytes_.empty()) return std::clamp(0, low, high);
    const int value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return low + value % (high - low + 1);
}

MPI_Datatype TypeProgram::named() {
    constexpr int count = 13;
    static const std::array<std::pair<MPI_Datatype, const char*>, count> types{
        {{MPI_INT, "int"},
         {MPI_CHAR, "char"},
         {MPI_SHORT, "short"},
         {MPI_DOUBLE, "double"},
         {MPI_BYTE, "byte"},
         {MPI_C_DOUBLE_COMPLEX, "complex"},
         {MPI_DOUBLE_INT, "double_int"},
         {MPI_SHORT_INT, "short_int"},
         {MPI_LONG_INT, "long_int"},
         {MPI_LONG_DOUBLE_INT, "long_double_int"},
         {MPI_2INT, "2int"},
         {MPI_FLOAT_INT, "float_int"},
         {MPI_PACKED, "packed"}}};
    const auto& [type, name] = types[static_cast<std::size_t>(number(0, count - 1))];
    static const bool any_complex = packs_complex_at_any_stride();
    if (type == MPI_C_DOUBLE_COMPLEX && !any_complex) {
        text_ += "double";
        return MPI_DOUBLE;
    }
    text_ += name;
    return type;
}

MPI_Datatype TypeProgram::construct(int depth) {
    const auto say = [&](int value) {
        text_ += std::to_string(value) + ", ";
        return value;
    };
    const auto inner = [&] {
        MpiDatatype type = this->type(depth - 1);
        text_ += ")";
        return type;
    };
    const auto lengths = [&](int count) {
        std::vector<int> values(static_cast<std::size_t>(count) + 1); // never empty, so that data() is a pointer
        std::generate_n(values.begin(), count, [&] { return say(number(0, 3)); });
        return values;
    };
    const auto displacements = [&]<class D>(int count, D scale) {
        std::vector<D> values(static_cast<std::size_t>(count) + 1);
        std::generate_n(values.begin(), count, [&] { return static_cast<D>(say(number(-8, 8)) * scale); });
        return values;
    };
    MPI_Datatype result = MPI_DATATYPE_NULL;
    switch (number(0, 13)) {
    case 0: {
        text_ += "contiguous(";
        const int count = say(number(0, 4));
        MPI_Type_contiguous(count, inner().get(), &result);
        break;
    }
    case 1: {
        text_ += "vector(";
        const int count = say(number(0, 4));
        const int length = say(number(0, 3));
        const int stride = say(number(-4, 5));
        const MpiDatatype element = inner();
        if (stride * extents_of(element.get()).extent == unusable_stride) break;
        MPI_Type_vector(count, length, stride, element.get(), &result);
        break;
    }
    case 2: {
        text_ += "hvector(";
        const int count = say(number(0, 4));
        const int length = say(number(0, 3));
        const int stride = say(number(-40, 60));
        const MpiDatatype element = inner();
        if (stride == unusable_stride) break;
        MPI_Type_create_hvector(count, length, stride, element.get(), &result);
        break;
    }
    case 3: {
        text_ += "indexed(";
        const int count = say(number(0, 5));
        const std::vector<int> blocks = lengths(count);
        const std::vector<int> places = displacements(count, 1);
        MPI_Type_indexed(count, blocks.data(), places.data(), inner().get(), &result);
        break;
    }
    case 4: {
        text_ += "hindexed(";
        const int count = say(number(0, 5));
        const std::vector<int> blocks = lengths(count);
        const std::vector<MPI_Aint> places = displacements(count, MPI_Aint{5});
        MPI_Type_create_hindexed(count, blocks.data(), places.data(), inner().get(), &result);
        break;
    }
    case 5: {
        text_ += "indexed_block(";
        const int count = say(number(0, 5));
        const int length = say(number(0, 3));
        const std::vector<int> places = displacements(count, 1);
        MPI_Type_create_indexed_block(count, length, places.data(), inner().get(), &result);
        break;
    }
    case 6: {
        text_ += "hindexed_block(";
        const int count = say(number(0, 5));
        const int length = say(number(0, 3));
        const std::vector<MPI_Aint> places = displacements(count, MPI_Aint{7});
        MPI_Type_create_hindexed_block(count, length, places.data(), inner().get(), &result);
        break;
    }
    case 7: {
        text_ += "struct(";
        const int count = say(number(0, 3));
        const std::vector<int> blocks = lengths(count);
        const std::vector<MPI_Aint> places = displacements(count, MPI_Aint{9});
        std::vector<MpiDatatype> owned;
        std::vector<MPI_Datatype> types{};
        for (int i = 0; i < count; ++i) {
            owned.push_back(type(depth - 1));
            types.push_back(owned.back().get());
            text_ += ", ";
        }
        text_ += ")";
        types.push_back(MPI_DATATYPE_NULL);
        // Open MPI 4.1 counts an empty member for the extent, and forgets the gap that this makes when it packs.
        if (std::any_of(owned.begin(), owned.end(),
                        [](const MpiDatatype& t) { return extents_of(t.get()).bytes == 0; }))
            break;
        MPI_Type_create_struct(count, blocks.data(), places.data(), types.data(), &result);
        break;
    }
    case 8: {
        text_ += "subarray(";
        const int dimensions = number(1, 3);
        std::vector<int> sizes;
        std::vector<int> subsizes;
        std::vector<int> starts;
        for (int d = 0; d < dimensions; ++d) {
            sizes.push_back(say(number(1, 5)));
            subsizes.push_back(say(number(1, sizes.back())));
            starts.push_back(say(number(0, sizes.back() - subsizes.back())));
        }
        const int order = number(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        text_ += order == MPI_ORDER_C ? "C, " : "Fortran, ";
        MPI_Type_create_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(), order, inner().get(),
                                 &result);
        break;
    }
    case 9: {
        text_ += "darray(";
        const int dimensions = number(1, 3);
        int size = 1;
        std::vector<int> sizes;
        std::vector<int> distributions;
        std::vector<int> arguments;
        std::vector<int> processes;
        for (int d = 0; d < dimensions; ++d) {
            sizes.push_back(say(number(1, 7)));
            const int kind = say(number(0, 2));
            distributions.push_back(kind == 0   ? MPI_DISTRIBUTE_BLOCK
                                    : kind == 1 ? MPI_DISTRIBUTE_CYCLIC
                                                : MPI_DISTRIBUTE_NONE);
            processes.push_back(say(kind == 2 ? 1 : number(1, 3)));
            const int least = kind == 0 ? (sizes.back() + processes.back() - 1) / processes.back() : 1;
            arguments.push_back(kind == 2 || number(0, 1) == 0 ? MPI_DISTRIBUTE_DFLT_DARG
                                                               : say(number(least, least + 2)));
            size *= processes.back();
        }
        const int rank = say(number(0, size - 1));
        const int order = number(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        text_ += order == MPI_ORDER_C ? "C, " : "Fortran, ";
        MPI_Type_create_darray(size, rank, dimensions, sizes.data(), distributions.data(), arguments.data(),
                               processes.data(), order, inner().get(), &result);
        break;
    }
    case 10: {
        text_ += "resized(";
        const int lower = say(number(-20, 20));
        static const bool negative = packs_negative_extents();
        const int extent = say(number(negative ? -10 : 0, 80));
        MPI_Type_create_resized(inner().get(), lower, extent, &result);
        break;
    }
    case 11: {
        text_ += "dup(";
        MPI_Type_dup(inner().get(), &result);
        break;
    }
    case 12: {
        // Predefined: another constructor is put around it, so that we own the result.
        text_ += "contiguous(f90_real)";
        MPI_Datatype real = MPI_DATATYPE_NULL;
        MPI_Type_create_f90_real(number(3, 15), MPI_UNDEFINED, &real);
        MPI_Type_contiguous(number(0, 2), real, &result);
        break;
    }
    default: {
        text_ += "contiguous(f90_integer)";
        MPI_Datatype integer = MPI_DATATYPE_NULL;
        MPI_Type_create_f90_integer(number(2, 18), &integer);
        MPI_Type_contiguous(number(0, 2), integer, &result);
        break;
    }
    }
    return result;
}

MpiDatatype TypeProgram::type(int depth) {
    if (depth > 0) {
        const std::size_t before = text_.size();
        const MPI_Datatype raw = construct(depth);
        MpiDatatype built{raw};
        // Open MPI 4.1 refuses some distributed arrays.
        const Extents extents = raw == MPI_DATATYPE_NULL ? Extents{most_bytes + 1, 0, 0, 0} : extents_of(raw);
        if (extents.bytes <= most_bytes && std::abs(extents.extent) <= most_span && extents.true_extent <= most_span)
            return built;
        text_.resize(before);
    }
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    MPI_Type_dup(named(), &copy);
    return MpiDatatype{copy};
}

std::string check_type_program(std::span<const std::uint8_t> bytes) {
    // Where MPI refuses to build a type, the program uses another one.
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    TypeProgram program{bytes};
    const int count = program.number(0, 3);
    const int depth = program.number(1, 4);
    MPI_Datatype raw = program.type(depth).release();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (handler != MPI_ERRORS_ARE_FATAL && handler != MPI_ERRORS_RETURN) MPI_Errhandler_free(&handler);
    MPI_Type_commit(&raw);
    const MpiDatatype type{raw};
    const auto wrong = [&](const std::string& what) {
        return what + ": " + std::to_string(count) + " of " + program.text();
    };

    const Layout layout = Layout::from_mpi(type.get(), count);
    const Flat order = packed_order(type.get(), count);
    if (flatten(layout) != order) return wrong("imported bytes differ from those of MPI_Pack");
    if (!(layout == Layout::list(blocks_of(order)))) return wrong("the layout is not equal to the list of its blocks");

    const MpiDatatype exported = layout.to_mpi();
    if (packed_order(exported.get(), 1) != order) return wrong("MPI packs the exported type otherwise");
    if (!(Layout::from_mpi(exported.get()) == layout)) return wrong("export and import give another layout");
    const auto at = [&](std::uint64_t limit) {
        return (static_cast<std::uint64_t>(program.number(0, 255)) * limit) / 255;
    };
    const std::uint64_t begin = at(layout.bytes());
    const Layout part = layout.slice(begin, begin + at(layout.bytes() - begin));
    if (!(Layout::from_mpi(part.to_mpi().get()) == part))
        return wrong("export and import of a slice give another layout");
    return {};
}

} // namespace test
