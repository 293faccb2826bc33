#include "upc/element_lists.hpp"

#include "upc/program.hpp"
#include "window/remote_cache.hpp"
#include "window/window_state.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/direction.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/detail/page_table.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace lapwing::upc {
namespace {

using lapwing::detail::arrays::ListedPlace;

/// Elements at a time: what is noted of them stays in the processor's first-level cache.
constexpr std::size_t piece = 512;

/// The numbers, in a piece, of elements that are not here.
class Missed {
public:
    [[nodiscard]] std::span<const std::uint16_t> numbers() const noexcept { return std::span{numbers_}.first(count_); }

    /// Notes them one after the other, without a branch: a number is overwritten by the next one if its element is
    /// here. A local object, so that the count is in a register.
    class Notes {
    public:
        explicit Notes(Missed& missed) noexcept : missed_{missed}, at_{missed.numbers_.data()} {}
        Notes(const Notes&) = delete;
        Notes& operator=(const Notes&) = delete;
        ~Notes() { missed_.count_ = static_cast<std::size_t>(at_ - missed_.numbers_.data()); }
        void note(std::size_t k, bool here) noexcept {
            *at_ = static_cast<std::uint16_t>(k);
            at_ += here ? 0 : 1;
        }

    private:
        Missed& missed_;
        std::uint16_t* at_;
    };

private:
    std::array<std::uint16_t, piece + 1> numbers_; // uninitialised: the used part is set
    std::size_t count_ = 0;
};

/// Reads what can be loaded and what the page table has. Whose an element is cannot be predicted: there is no
/// branch for it. Returns how many of them cannot be loaded.
template <class Word, bool dealt_one_by_one>
[[nodiscard]] std::size_t read_here(std::byte* destination, const ElementList& list, Missed& missed) {
    // By value: stores to the destination change nothing of it.
    const std::uint32_t near_first = detail::heap_access.near_first, near_count = detail::heap_access.near_count;
    const std::uint64_t heap_begin = detail::heap_access.heap_begin;
    const std::uint64_t last = detail::heap_access.heap_bytes - sizeof(Word);
    std::byte* const* const bases = detail::heap_access.bases;
    const ThreadCount threads = detail::heap_access.threads;
    const ElementList from = list;
    const lapwing::detail::window::PageTables& page_tables = *detail::heap_access.page_tables;
    lapwing::detail::window::PageTable& pages = page_tables.mine();
    const std::uint64_t part_stride = page_tables.part_stride();
    static constexpr Word nothing{};
    std::size_t far = 0, hits = 0;
    Missed::Notes notes{missed};
    for (std::size_t k = 0; k < from.indices.size(); ++k) {
        const lapwing_upc_pointer p =
            threads.add(from.base, sizeof(Word), dealt_one_by_one ? 1 : from.block_size, from.indices[k]);
        const std::uint32_t near = p.thread - near_first;
        const bool is_near = near < near_count;
        const std::byte* const loaded = bases[is_near ? near : 0] + p.address;
        // No place beyond those of the table, whatever the address is.
        const bool in_heap = p.address - heap_begin <= last;
        const auto cached = pages.look(p.thread * part_stride + (in_heap ? p.address : 0));
        const bool is_here = (is_near | cached.here) & in_heap;
        const std::byte* const place = is_near ? loaded : cached.value;
        std::memcpy(destination + k * sizeof(Word), is_here ? place : reinterpret_cast<const std::byte*>(&nothing),
                    sizeof(Word));
        far += is_near ? 0 : 1;
        hits += is_near || !is_here ? 0 : 1;
        notes.note(k, is_here);
    }
    if (hits != 0) pages.note_hits(hits); // what finds nothing is shared by threads, and is not written to
    return far;
}
/// Reads what is in the range, which is all near or copied. `word_bytes`: of an element; 0: it is no word.
template <std::size_t word_bytes, bool dealt_one_by_one>
void read_copied(std::byte* destination, const ElementList& list, const CopiedRange& range, Missed& missed) {
    const std::byte* const* const places = range.places();
    const std::ptrdiff_t begin = range.begin();
    const std::uint64_t size = range.size();
    const ThreadCount threads = detail::heap_access.threads;
    const ElementList from = list;
    const std::size_t bytes = word_bytes != 0 ? word_bytes : from.element_bytes;
    Missed::Notes notes{missed};
    for (std::size_t k = 0; k < from.indices.size(); ++k) {
        const std::ptrdiff_t i = from.indices[k];
        const bool in_range = static_cast<std::uint64_t>(i - begin) < size;
        const lapwing_upc_pointer p =
            threads.add(from.base, bytes, dealt_one_by_one ? 1 : from.block_size, in_range ? i : begin);
        std::memcpy(destination + k * bytes, places[p.thread] + p.address, bytes);
        notes.note(k, in_range);
    }
}

/// Elements of other sizes: those that can be loaded.
[[nodiscard]] std::size_t read_near(std::byte* destination, const ElementList& list, Missed& missed) {
    const detail::HeapAccess& here = detail::heap_access;
    std::size_t far = 0;
    Missed::Notes notes{missed};
    for (std::size_t k = 0; k < list.indices.size(); ++k) {
        const lapwing_upc_pointer p = here.threads.add(list.base, list.element_bytes, list.block_size, list.indices[k]);
        const std::uint32_t near = p.thread - here.near_first;
        const bool is_here =
            near < here.near_count && p.address - here.heap_begin <= here.heap_bytes - list.element_bytes;
        if (is_here)
            std::memcpy(destination + k * list.element_bytes, here.bases[near] + p.address, list.element_bytes);
        far += is_here ? 0 : 1;
        notes.note(k, is_here);
    }
    return far;
}

/// Calls `read(Word{})` with a type of the elements' size, or `other()`.
template <class Read, class Other>
auto as_words(const ElementList& list, Read read, Other other) {
    const bool aligned = list.base.address % list.element_bytes == 0;
    if (aligned) switch (list.element_bytes) {
        case 1: return read(std::uint8_t{});
        case 2: return read(std::uint16_t{});
        case 4: return read(std::uint32_t{});
        case 8: return read(std::uint64_t{});
        default: break;
        }
    return other();
}

/// Reads what is here, of a piece. Returns how many elements cannot be loaded.
[[nodiscard]] std::size_t read_piece(std::byte* destination, const ElementList& list, Missed& missed) {
    return as_words(
        list,
        [&]<class Word>(Word) {
            return list.block_size == 1 ? read_here<Word, true>(destination, list, missed)
                                        : read_here<Word, false>(destination, list, missed);
        },
        [&] { return read_near(destination, list, missed); });
}
void read_piece(std::byte* destination, const ElementList& list, const CopiedRange& range, Missed& missed) {
    as_words(
        list,
        [&]<class Word>(Word) {
            if (list.block_size == 1) read_copied<sizeof(Word), true>(destination, list, range, missed);
            else read_copied<sizeof(Word), false>(destination, list, range, missed);
        },
        [&] { read_copied<0, false>(destination, list, range, missed); });
}

/// What nothing here has, by messages.
class FarElements {
public:
    FarElements(ProgramState& program, std::size_t bytes) : program_{program}, bytes_{bytes} {}

    void add(std::byte* destination, const lapwing_upc_pointer& place) {
        program_.require_within("get", place, bytes_);
        destinations_.push_back(destination);
        places_.push_back({static_cast<int>(place.thread), place.address});
    }
    void get() {
        if (places_.empty()) return;
        std::vector<std::byte> values(places_.size() * bytes_);
        lapwing::detail::arrays::start_list(program_.heap(), lapwing::detail::transport::Direction::get, places_,
                                            bytes_, values.data())
            .wait();
        for (std::size_t k = 0; k < places_.size(); ++k)
            std::memcpy(destinations_[k], values.data() + k * bytes_, bytes_);
    }

private:
    ProgramState& program_;
    std::size_t bytes_;
    std::vector<std::byte*> destinations_;
    std::vector<ListedPlace> places_;
};

} // namespace

void ElementLists::Object::see(std::span<const std::ptrdiff_t> indices) noexcept {
    for (const std::ptrdiff_t i : indices) {
        begin = std::min(begin, i);
        end = std::max(end, i + 1);
    }
}

ElementLists::Object* ElementLists::find(const ElementList& list) {
    const auto is_of = [&](const Object& object) {
        return object.base.address == list.base.address && object.base.thread == list.base.thread &&
               object.base.phase == list.base.phase && object.element_bytes == list.element_bytes &&
               object.block_size == list.block_size;
    };
    if (is_of(objects_[last_])) return &objects_[last_];
    const auto object = std::ranges::find_if(objects_, is_of);
    if (object == objects_.end()) return nullptr;
    last_ = static_cast<std::size_t>(object - objects_.begin());
    return &*object;
}

ElementLists::Object& ElementLists::object_of(const ElementList& list) {
    Object* object = find(list);
    if (object == nullptr) {
        object = &*std::ranges::min_element(objects_, {}, &Object::used);
        *object = {.base = list.base,
                   .element_bytes = list.element_bytes,
                   .block_size = list.block_size,
                   .begin = list.indices.front(),
                   .end = list.indices.front()};
    }
    object->used = ++uses_;
    return *object;
}

CopiedRange* ElementLists::copies_of(Object& object) {
    // A program may wait for what another thread writes, without an acquire: it must see that in the end.
    constexpr std::uint64_t reads_of_a_fill = 64;
    if (object.range == nullptr) return nullptr;
    if (object.since_filled / reads_of_a_fill > object.range->size()) object.range->expire();
    if (!object.range->is_fresh()) {
        // An acquire: was the last fill worth its time?
        object.waste = object.since_filled * 4 < object.range->size() ? object.waste + 1 : 0;
        object.since_filled = 0;
        if (object.waste > 2) {
            object.range = nullptr;
            object.worth *= 4;
            object.far = 0;
            object.waste = 0;
            return nullptr;
        }
        object.range->fill();
    }
    return object.range.get();
}

void ElementLists::consider_copies(Object& object, const ElementList& list) {
    const auto size = static_cast<std::uint64_t>(object.end - object.begin);
    if (object.far / object.worth < size) return;
    object.far = 0;
    object.range = nullptr;
    // Another thread might be writing into pages of its own meanwhile, and tell the copies nothing.
    const lapwing::detail::window::RemoteCache* const cache = program_.heap().state().order().cache();
    if (cache != nullptr && !cache->is_of_this_thread()) return;
    object.range = CopiedRange::make(program_, list, object.begin, object.end);
    object.since_filled = size;
    if (object.range == nullptr) object.worth *= 4;
}

bool ElementLists::is_loadable(const ElementList& object) {
    const detail::HeapAccess& here = detail::heap_access;
    const auto threads = static_cast<std::uint64_t>(here.threads.threads());
    if (object.base.thread >= threads || object.base.address < here.heap_begin ||
        object.base.address > here.heap_begin + here.heap_bytes || object.element_bytes == 0)
        return false;
    return object.block_size == 0 ? object.base.thread - here.near_first < here.near_count
                                  : here.near_first == 0 && here.near_count == threads;
}

lapwing_upc_places ElementLists::all_places(const ElementList& object) {
    const detail::HeapAccess& here = detail::heap_access;
    const std::uint64_t block = object.block_size;
    const std::uint64_t step = block == 0 ? object.element_bytes : object.element_bytes * block;
    const std::uint64_t round = block == 0 ? 1 : block * static_cast<std::uint64_t>(here.threads.threads());
    // The block of the base may begin before it, and before the heap does.
    const std::uint64_t steps = (object.base.address - here.heap_begin) / step;
    const std::uint64_t before = block == 0 || steps == 0 ? steps : steps - 1;
    lapwing_upc_places places;
    describe(places, object, -static_cast<std::ptrdiff_t>(before * round));
    places.parts = reinterpret_cast<const char* const*>(here.bases);
    if (block == 0) places.parts += object.base.thread - here.near_first;
    places.size = (here.heap_begin + here.heap_bytes - places.address) / step * round;
    places.size -= std::min<std::uint64_t>(places.before, places.size);
    if (places.address < here.heap_begin) places.size = 0;
    return places;
}

bool ElementLists::find_loadable(lapwing_upc_places& places, const ElementList& object) {
    if (!is_loadable(object)) return false;
    // Loops ask for the same object again and again, and divisions take a while.
    struct Recent {
        lapwing_upc_pointer base{};
        std::size_t element_bytes = 0;
        std::size_t block_size = 0;
        std::byte* const* bases = nullptr; ///< of the program, and its heap
        std::uint64_t heap_bytes = 0;
        lapwing_upc_places places{};
    };
    static thread_local Recent recent;
    const lapwing_upc_pointer& base = object.base;
    if (recent.base.address != base.address || recent.base.thread != base.thread || recent.base.phase != base.phase ||
        recent.element_bytes != object.element_bytes || recent.block_size != object.block_size ||
        recent.bases != detail::heap_access.bases || recent.heap_bytes != detail::heap_access.heap_bytes)
        recent = {base,
                  object.element_bytes,
                  object.block_size,
                  detail::heap_access.bases,
                  detail::heap_access.heap_bytes,
                  all_places(object)};
    places = recent.places;
    return true;
}

void ElementLists::describe(lapwing_upc_places& places, const ElementList& object, std::ptrdiff_t begin) {
    const lapwing::detail::distribution::Reciprocal& by_threads = detail::heap_access.threads.reciprocal();
    places.base = object.base;
    places.begin = begin;
    places.before = 0;
    places.threads = by_threads.divisor();
    places.multiplier = std::has_single_bit(places.threads) ? 0 : by_threads.multiplier();
    places.shift = by_threads.shift();
    std::ptrdiff_t elements = begin; // of the part of its thread, from the base on
    if (object.block_size != 0) {
        const auto block = static_cast<std::ptrdiff_t>(object.block_size);
        const std::ptrdiff_t round = block * static_cast<std::ptrdiff_t>(places.threads);
        // From the start of the base's round.
        const std::ptrdiff_t position =
            begin + static_cast<std::ptrdiff_t>(object.base.thread) * block + object.phase();
        const std::ptrdiff_t rounds = (position >= 0 ? position : position - (round - 1)) / round;
        places.before = static_cast<std::size_t>(position - rounds * round);
        elements = rounds * block - object.phase();
    }
    places.address = object.base.address + static_cast<std::uint64_t>(elements) * object.element_bytes;
}

bool ElementLists::find_places(lapwing_upc_places& places, const ElementList& object, std::size_t reads) {
    if (find_loadable(places, object)) return true;
    if (std::this_thread::get_id() != thread_) return false;
    Object* const known = find(object);
    if (known == nullptr || known->range == nullptr) return false;
    known->used = ++uses_;
    // A list now and then says whether the range is still that of the indices.
    if (++known->looks % 16 == 0) return false;
    const CopiedRange* const range = copies_of(*known);
    if (range == nullptr) return false;
    known->since_filled += reads;
    describe(places, object, range->begin());
    places.parts =
        reinterpret_cast<const char* const*>(range->places()) + (object.block_size == 0 ? object.base.thread : 0);
    places.size = range->size();
    return true;
}

void ElementLists::get(std::byte* destination, const ElementList& list) {
    constexpr std::uint64_t first_calls = 64; // whose indices are looked at; later every eighth's
    const std::size_t bytes = list.element_bytes;
    const bool each = detail::heap_access.near_count == 0; // recorded, strict, or checked
    if (list.base.thread >= static_cast<std::uint32_t>(program_.threads().threads()))
        program_.require_in_part("get", list.base, bytes); // says so: arithmetic would find a thread
    const bool cached = program_.heap().page_tables() != nullptr;
    const auto place_of = [&](std::size_t k) {
        return program_.threads().add(list.base, bytes, list.block_size, list.indices[k]);
    };
    Object* const object = each || std::this_thread::get_id() != thread_ ? nullptr : &object_of(list);
    const CopiedRange* const range = object == nullptr ? nullptr : copies_of(*object);
    FarElements far{program_, bytes};
    std::size_t not_copied = 0;
    for (std::size_t begin = 0; begin < list.indices.size(); begin += piece) {
        ElementList part = list;
        part.indices = list.indices.subspan(begin, std::min(piece, list.indices.size() - begin));
        Missed missed;
        if (each) {
            Missed::Notes notes{missed};
            for (std::size_t k = 0; k < part.indices.size(); ++k) notes.note(k, false);
        } else if (range != nullptr) {
            read_piece(destination + begin * bytes, part, *range, missed);
            not_copied += missed.numbers().size();
        } else {
            not_copied += read_piece(destination + begin * bytes, part, missed);
        }
        for (const std::size_t k : missed.numbers()) {
            std::byte* const to = destination + (begin + k) * bytes;
            if (each || cached || program_.reachable(place_of(begin + k)) != nullptr)
                program_.memory().get("get", to, place_of(begin + k), bytes);
            else far.add(to, place_of(begin + k));
        }
    }
    far.get();
    if (object == nullptr) return;
    object->since_filled += list.indices.size();
    if (not_copied == 0) return;
    object->far += not_copied;
    if (object->calls < first_calls || object->calls % 8 == 0) object->see(list.indices);
    ++object->calls;
    consider_copies(*object, list);
}

} // namespace lapwing::upc
