// pack/contiguous: one block to one block by the copier of layouts, compared with memcpy (figure 5 of the
// superpipelining paper). Hot: the same memory again and again; cold: every copy from memory that has left the caches.
#include "harness.hpp"
#include "strided_cell.hpp"

#include "datatype/block_copy.hpp"

#include <lapwing/layout.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::uint64_t region = std::uint64_t{256} << 20; ///< of each side, for cold copies

void pack_contiguous(Context& context) {
    context.set_path("self");
    const bool quick = context.options().seconds < 0.05;
    const std::uint64_t bytes_each = context.rank() == 0 ? (quick ? region / 16 : region) : 0;
    std::vector<std::byte> from(bytes_each, std::byte{1});
    std::vector<std::byte> to(bytes_each, std::byte{2});
    for (std::uint64_t bytes = 8; bytes <= 16U << 20; bytes *= 8) {
        for (const bool hot : {true, false}) {
            const Layout block = Layout::contiguous(bytes);
            const auto subject = [&](const std::string& name, auto copy) {
                return Subject{.name = name,
                               .run = [&context, &from, &to, bytes, hot, copy,
                                       at = std::uint64_t{0}](std::uint64_t iterations) mutable {
                                   if (context.rank() != 0) return 0.0;
                                   const Stopwatch watch;
                                   for (std::uint64_t n = 0; n < iterations; ++n) {
                                       copy(to.data() + at, from.data() + at);
                                       if (hot) continue;
                                       at += (bytes + 4095) / 4096 * 4096; // another page at least
                                       if (at + bytes > from.size()) at = 0;
                                   }
                                   keep(to.front());
                                   return watch.seconds();
                               }};
            };
            context.compare(
                fmt::format("{} {}", size_name(bytes), hot ? "hot" : "cold"),
                gigabytes_per_second(static_cast<double>(bytes)),
                subject("copy of layouts",
                        [&block](std::byte* out, const std::byte* in) {
                            lapwing::detail::datatype::copy(out, block, in, block);
                        }),
                {subject("memcpy", [bytes](std::byte* out, const std::byte* in) { std::memcpy(out, in, bytes); })});
        }
    }
}

const Registration registration{{.name = "pack/contiguous",
                                 .summary = "contiguous copies by the copier of layouts, compared with memcpy",
                                 .run = pack_contiguous,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
