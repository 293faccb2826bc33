#include "model/program_description.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
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

void ProgramDescription::check() const {
    if (threads < 1) throw UsageError{fmt::format("{} threads in the description; it needs at least 1", threads)};
    for (const DescribedInterval& interval : intervals) {
        for (const Reference& reference : interval.references) {
            (void)object(reference.object);
            const double share = reference.affinity.local;
            const double hits = reference.hit_rate.value_or(0);
            if (!(share >= 0 && share <= 1) || !(hits >= 0 && hits <= 1))
                throw UsageError{fmt::format("reference '{}' of interval '{}': the share {} of local accesses, or the "
                                             "hit rate {}, is outside [0, 1]",
                                             reference.name, interval.name, share, hits)};
        }
        for (const Dependence& dependence : interval.dependences)
            if (std::max(dependence.from, dependence.to) >= interval.references.size())
                throw UsageError{fmt::format("interval '{}': a dependence from reference {} to {}, and it has {}",
                                             interval.name, dependence.from, dependence.to,
                                             interval.references.size())};
    }
}

namespace {

/// Elements of the object that have affinity to the thread.
[[nodiscard]] std::uint64_t owned(const SharedObject& object, int thread, int threads) {
    const auto t = static_cast<std::uint64_t>(thread);
    if (object.block == 0) return thread == object.home ? object.elements : 0;
    const std::uint64_t round = object.block * static_cast<std::uint64_t>(threads);
    const std::uint64_t rest = object.elements % round;
    const std::uint64_t begin = t * object.block;
    return object.elements / round * object.block + (rest > begin ? std::min(rest - begin, object.block) : 0);
}

} // namespace

double local_share(const SharedObject& object, const Reference& reference, int thread, int threads) {
    using Kind = ReferenceAffinity::Kind;
    switch (reference.affinity.kind) {
    case Kind::own: return 1;
    case Kind::share: return reference.affinity.local;
    case Kind::home: return object.block == 0 && thread != object.home ? 0 : 1;
    case Kind::whole:
        return object.elements == 0
                   ? 0
                   : static_cast<double>(owned(object, thread, threads)) / static_cast<double>(object.elements);
    case Kind::shift: break;
    }
    if (object.block == 0) return thread == object.home ? 1 : 0;
    // Element e of a block is `blocks` blocks further on, or one more.
    const auto block = static_cast<std::int64_t>(object.block);
    std::int64_t blocks = reference.affinity.shift / block;
    std::int64_t rest = reference.affinity.shift % block;
    if (rest < 0) {
        rest += block;
        --blocks;
    }
    const auto share = [&](std::int64_t elements, std::int64_t moved) {
        return moved % threads == 0 ? static_cast<double>(elements) / static_cast<double>(block) : 0.0;
    };
    return share(block - rest, blocks) + share(rest, blocks + 1);
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
        else if (what == "object") read_object();
        else if (what == "interval") read_interval();
        else if (what == "reference") read_reference();
        else if (what == "dependence") read_dependence();
        else
            fail(fmt::format("'{}' is unknown; a line starts with threads, object, interval, reference or dependence",
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
        for (const auto& [key, value] :
             values({"computation", "times", "barriers", "locks", "collectives", "notifications"})) {
            if (key == "computation") interval.computation_seconds = number<double>(value);
            else if (key == "times") interval.times = number<std::uint64_t>(value);
            else if (key == "locks") interval.locks = number<std::uint64_t>(value);
            else if (key == "collectives") interval.collectives = number<std::uint64_t>(value);
            else if (key == "notifications") interval.notifications = number<std::uint64_t>(value);
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
            else reference.hit_rate = number<double>(value);
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
