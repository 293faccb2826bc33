#include "model/program_description.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace lapwing::detail::model {

const SharedObject& ProgramDescription::object(std::string_view name) const {
    const auto found = std::ranges::find(objects, name, &SharedObject::name);
    if (found == objects.end())
        throw UsageError{
            fmt::format("the description has no object '{}'; add a line: object {} elements=…", name, name)};
    return *found;
}

namespace {

void check_object(const ProgramDescription& program, const SharedObject& object) {
    if (std::ranges::count(program.objects, object.name, &SharedObject::name) > 1)
        throw UsageError{fmt::format("the description has two objects '{}'; give each a name of its own", object.name)};
    if (object.block == 0 && (object.home < 0 || object.home >= program.threads))
        throw UsageError{fmt::format("object '{}' is at home={}, and there are {} threads; home= is below that",
                                     object.name, object.home, program.threads)};
}

/// Whether an affinity says something about an object: one of indefinite block size is at its home, another one has
/// none.
void check_affinity(const ProgramDescription& program, const DescribedInterval& interval, const Reference& reference) {
    using Kind = ReferenceAffinity::Kind;
    const SharedObject& object = program.object(reference.object);
    const Kind kind = reference.affinity.kind;
    if (kind == Kind::home && object.block != 0)
        throw UsageError{
            fmt::format("reference '{}' of interval '{}': affinity=home, but '{}' is in blocks of {}; write "
                        "block=indefinite for an object of one thread",
                        reference.name, interval.name, object.name, object.block)};
    if (kind == Kind::own && object.block == 0 && program.threads > 1)
        throw UsageError{fmt::format("reference '{}' of interval '{}': affinity=own, but all of '{}' is thread {}'s; "
                                     "write affinity=home",
                                     reference.name, interval.name, object.name, object.home)};
}

void check_reference(const DescribedInterval& interval, const Reference& reference) {
    const CachedShare cached = reference.cached.value_or(CachedShare{});
    for (const double share : {reference.affinity.local, cached.hits, cached.lines, cached.passed})
        if (!(share >= 0 && share <= 1))
            throw UsageError{fmt::format("reference '{}' of interval '{}': the share {} of local accesses, or the hit "
                                         "rate {}, is outside [0, 1]",
                                         reference.name, interval.name, reference.affinity.local, cached.hits)};
}

} // namespace

void ProgramDescription::check() const {
    if (threads < 1) throw UsageError{fmt::format("{} threads in the description; it needs at least 1", threads)};
    for (const SharedObject& shared : objects) check_object(*this, shared);
    for (const DescribedInterval& interval : intervals) {
        if (!(interval.computation_seconds >= 0) || std::isinf(interval.computation_seconds))
            throw UsageError{fmt::format("interval '{}': computation={}; it is seconds, from 0 on", interval.name,
                                         interval.computation_seconds)};
        for (const Reference& reference : interval.references) {
            check_affinity(*this, interval, reference);
            check_reference(interval, reference);
        }
        for (const Dependence& dependence : interval.dependences)
            if (std::max(dependence.from, dependence.to) >= interval.references.size())
                throw UsageError{fmt::format("interval '{}': a dependence from reference {} to {}, and it has {}",
                                             interval.name, dependence.from, dependence.to,
                                             interval.references.size())};
    }
}

namespace {

/// Of the first `elements` of a shared array, those whose place in a round of all threads' blocks is in [begin, end).
[[nodiscard]] std::uint64_t count_below(std::uint64_t elements, std::uint64_t round, std::uint64_t begin,
                                        std::uint64_t end) {
    if (begin >= end) return 0;
    const std::uint64_t rest = elements % round;
    return elements / round * (end - begin) + (rest > begin ? std::min(rest, end) - begin : 0);
}

/// Of the elements that are `shift` after the thread's own and in the object: the fraction that is the thread's, too.
[[nodiscard]] double shifted_share(const SharedObject& object, std::int64_t shift, int thread, int threads) {
    if (threads == 1) return 1;
    const auto elements = static_cast<std::int64_t>(object.elements);
    const auto first = static_cast<std::uint64_t>(std::clamp<std::int64_t>(-shift, 0, elements));
    const auto last = static_cast<std::uint64_t>(std::clamp<std::int64_t>(elements - shift, 0, elements));
    if (first >= last) return 1; // it accesses nothing
    const std::uint64_t round = object.block * static_cast<std::uint64_t>(threads);
    const std::uint64_t begin = static_cast<std::uint64_t>(thread) * object.block;
    const auto between = [&](std::uint64_t from, std::uint64_t to) {
        return count_below(last, round, from, to) - count_below(first, round, from, to);
    };
    const std::uint64_t all = between(begin, begin + object.block);
    if (all == 0) return 1;
    const auto signed_round = static_cast<std::int64_t>(round);
    const auto forward = static_cast<std::uint64_t>((shift % signed_round + signed_round) % signed_round);
    std::uint64_t own = 0;
    if (forward < object.block) own = between(begin, begin + object.block - forward);
    else if (const std::uint64_t back = round - forward; back < object.block)
        own = between(begin + back, begin + object.block);
    return static_cast<double>(own) / static_cast<double>(all);
}

} // namespace

std::uint64_t owned_elements(const SharedObject& object, int thread, int threads) {
    if (object.block == 0) return thread == object.home ? object.elements : 0;
    const std::uint64_t begin = static_cast<std::uint64_t>(thread) * object.block;
    return count_below(object.elements, object.block * static_cast<std::uint64_t>(threads), begin,
                       begin + object.block);
}

double local_share(const SharedObject& object, const Reference& reference, int thread, int threads) {
    using Kind = ReferenceAffinity::Kind;
    switch (reference.affinity.kind) {
    case Kind::own: return 1;
    case Kind::share: return reference.affinity.local;
    case Kind::home: return object.block == 0 && thread != object.home ? 0 : 1;
    case Kind::whole:
        return object.elements == 0 ? 0
                                    : static_cast<double>(owned_elements(object, thread, threads)) /
                                          static_cast<double>(object.elements);
    case Kind::shift: break;
    }
    if (object.block == 0) return thread == object.home ? 1 : 0;
    return shifted_share(object, reference.affinity.shift, thread, threads);
}

namespace {

/// Reads a description line by line.
class DescriptionReader {
public:
    ProgramDescription read(std::string_view text) {
        while (!text.empty()) {
            const std::string_view line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(line.size() + 1, text.size()));
            ++line_number_;
            rest_ = line.substr(0, line.find('#'));
            if (const std::string_view what = next_word(); !what.empty()) read_line(what);
        }
        program_.check();
        return std::move(program_);
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw UsageError{fmt::format("line {} of the description: {}", line_number_, why)};
    }

    std::string_view next_word() {
        constexpr std::string_view blanks = " \t\r";
        const auto begin = rest_.find_first_not_of(blanks);
        if (begin == rest_.npos) return rest_ = {};
        rest_.remove_prefix(begin);
        const std::string_view word = rest_.substr(0, rest_.find_first_of(blanks));
        rest_.remove_prefix(word.size());
        return word;
    }
    std::string name(const char* of_what) {
        const std::string_view word = next_word();
        if (word.empty() || word.find('=') != word.npos) fail(fmt::format("the name of the {} is missing", of_what));
        return std::string{word};
    }
    template <class Number>
    Number number(std::string_view text) const {
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size()) fail(fmt::format("'{}' is not a number", text));
        return value;
    }
    /// The rest of the line: key=value.
    std::map<std::string_view, std::string_view> values(std::initializer_list<std::string_view> allowed) {
        std::map<std::string_view, std::string_view> found;
        for (std::string_view word = next_word(); !word.empty(); word = next_word()) {
            const auto equals = word.find('=');
            const std::string_view key = word.substr(0, equals);
            if (equals == word.npos || std::ranges::find(allowed, key) == allowed.end())
                fail(fmt::format("'{}' is not allowed here; allowed are {}=…", word, fmt::join(allowed, "=…, ")));
            if (!found.emplace(key, word.substr(equals + 1)).second) fail(fmt::format("'{}' appears twice", key));
        }
        return found;
    }

    void read_line(std::string_view what) {
        if (what == "threads") program_.threads = number<int>(next_word());
        else if (what == "sequential") program_.sequential_accesses = number<std::uint64_t>(next_word());
        else if (what == "object") read_object();
        else if (what == "interval") read_interval();
        else if (what == "reference") read_reference();
        else if (what == "transfer") read_transfer();
        else if (what == "dependence") read_dependence();
        else
            fail(fmt::format("'{}' is unknown; a line starts with threads, sequential, object, interval, reference, "
                             "transfer or dependence",
                             what));
        if (!next_word().empty()) fail("there is unexpected text at the end of the line");
    }
    void read_object() {
        SharedObject object{.name = name("object")};
        for (const auto& [key, value] : values({"elements", "block", "bytes", "home"})) {
            if (key == "elements") object.elements = number<std::uint64_t>(value);
            else if (key == "bytes") object.element_bytes = number<std::uint64_t>(value);
            else if (key == "home") object.home = number<int>(value);
            else object.block = value == "indefinite" ? 0 : number<std::uint64_t>(value);
        }
        if (object.elements == 0 || object.element_bytes == 0) fail("an object needs elements=… and bytes=… above 0");
        program_.objects.push_back(std::move(object));
    }
    void read_interval() {
        DescribedInterval interval{.name = name("interval")};
        for (const auto& [key, value] : values({"computation", "times", "barriers", "locks", "collectives",
                                                "notifications", "atomics", "updates", "private"})) {
            if (key == "computation") interval.computation_seconds = number<double>(value);
            else if (key == "times") interval.times = number<std::uint64_t>(value);
            else if (key == "locks") interval.locks = number<std::uint64_t>(value);
            else if (key == "collectives") interval.collectives = number<std::uint64_t>(value);
            else if (key == "notifications") interval.notifications = number<std::uint64_t>(value);
            else if (key == "atomics") interval.atomics = number<std::uint64_t>(value);
            else if (key == "updates") interval.updates = number<std::uint64_t>(value);
            else if (key == "private") interval.private_accesses = number<std::uint64_t>(value);
            else interval.barriers = number<std::uint64_t>(value);
        }
        program_.intervals.push_back(std::move(interval));
    }
    DescribedInterval& interval() {
        if (program_.intervals.empty()) fail("there is no interval yet; write: interval NAME");
        return program_.intervals.back();
    }
    void read_reference() {
        Reference reference{.name = name("reference")};
        const std::string_view operation = next_word();
        if (operation != "read" && operation != "write") fail("after its name a reference has read or write");
        reference.write = operation == "write";
        reference.object = name("object");
        for (const auto& [key, value] : values({"count", "affinity", "walk", "place", "with", "hits"})) {
            if (key == "count") reference.count = number<std::uint64_t>(value);
            else if (key == "affinity") reference.affinity = affinity(value);
            else if (key == "walk") reference.walk = walk(value);
            else if (key == "place") reference.place = value;
            else if (key == "with") reference.with = value;
            else reference.cached = CachedShare{.hits = number<double>(value)};
        }
        interval().add(std::move(reference));
    }
    ReferenceAffinity affinity(std::string_view value) const {
        using Kind = ReferenceAffinity::Kind;
        if (value == "own") return {Kind::own};
        if (value == "whole") return {Kind::whole};
        if (value == "home") return {Kind::home};
        if (value.starts_with("shift:")) return {Kind::shift, number<std::int64_t>(value.substr(6))};
        if (value.starts_with("share:")) return {Kind::share, 0, number<double>(value.substr(6))};
        fail(fmt::format("affinity={} is unknown; it is own, whole, home, shift:ELEMENTS or share:LOCAL", value));
    }
    Walk walk(std::string_view value) const {
        if (value == "random") return {Walk::Kind::random};
        if (value == "clustered") return {Walk::Kind::clustered};
        if (value == "unit") return {Walk::Kind::stride, 1};
        if (value.starts_with("stride:")) return {Walk::Kind::stride, number<std::int64_t>(value.substr(7))};
        fail(fmt::format("walk={} is unknown; it is unit, stride:ELEMENTS, clustered or random", value));
    }
    void read_transfer() {
        constexpr std::array<std::string_view, 4> words{"get", "put", "gather", "scatter"};
        const auto word = std::ranges::find(words, next_word());
        if (word == words.end()) fail("a transfer is get, put, gather or scatter");
        DescribedTransfer transfer{.kind = static_cast<DescribedTransfer::Kind>(word - words.begin())};
        const bool list = transfer.kind >= DescribedTransfer::Kind::gather;
        for (const auto& [key, value] : values({"count", list ? "elements" : "bytes"}))
            (key == "count" ? transfer.count : transfer.bytes) = number<std::uint64_t>(value);
        interval().transfers.push_back(transfer);
    }
    void read_dependence() {
        DescribedInterval& here = interval();
        const auto numbered = [&](const std::string& reference) {
            const auto found = std::ranges::find(here.references, reference, &Reference::name);
            if (found == here.references.end())
                fail(fmt::format("interval '{}' has no reference '{}' above this line", here.name, reference));
            return static_cast<std::size_t>(found - here.references.begin());
        };
        const std::size_t from = numbered(name("reference"));
        const std::size_t to = numbered(name("reference"));
        constexpr std::array<std::string_view, 4> words{"true", "anti", "output", "input"};
        const auto word = std::ranges::find(words, next_word());
        if (word == words.end()) fail("a dependence is true, anti, output or input");
        here.depends(from, to, static_cast<Dependence::Kind>(word - words.begin()));
    }

    ProgramDescription program_;
    std::size_t line_number_ = 0;
    std::string_view rest_;
};

} // namespace

ProgramDescription parse_description(std::string_view text) { return DescriptionReader{}.read(text); }

} // namespace lapwing::detail::model
