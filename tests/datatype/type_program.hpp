// MPI datatypes built by programs that are strings of bytes: any string is a program, so that random strings and those
// of a fuzzer work alike.
#pragma once

#include <lapwing/mpi_datatype.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace test {

/// Reads a program; after its end it reads zeros.
class TypeProgram {
public:
    explicit TypeProgram(std::span<const std::uint8_t> bytes) : bytes_{bytes} {}

    /// A number in [low, high].
    [[nodiscard]] int number(int low, int high);
    /// An uncommitted type of at most this many constructors around each other, of bounded size and extent.
    [[nodiscard]] lapwing::MpiDatatype type(int depth);
    /// What has been built, for messages: "vector(2, 1, -3, int)".
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    [[nodiscard]] MPI_Datatype named();
    [[nodiscard]] MPI_Datatype construct(int depth);

    std::span<const std::uint8_t> bytes_;
    std::string text_;
};

/// Runs a program and compares what Lapwing makes of the type with MPI_Pack: the order and the place of every byte; the
/// same of the type that Lapwing exports, of a whole layout and of a slice. Returns what is wrong; empty if nothing is.
[[nodiscard]] std::string check_type_program(std::span<const std::uint8_t> bytes);

} // namespace test
