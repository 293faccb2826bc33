// Copies beside the cache (window/coherent_copies.hpp) are notified of writes to arrays: elements, patches, lists,
// atomics. Each row of a matrix has one writer. tests/window/coherent_copies_test.cpp has the calls of windows.
#include "tests/arrays/array_test.hpp"
#include "tests/window/mirror.hpp"

#include <optional>

using namespace lapwing;
using test::Mirror;

namespace {

template <class T>
class ArrayWriter {
public:
    template <class D>
    ArrayWriter(Team& team, const Extents<2>& extents, const D& distribution, unsigned seed)
        : team_{team},
          array_{team, extents, distribution, {.name = "told"}},
          map_{distribution.map(extents, team.size())},
          extents_{extents},
          random_{seed + static_cast<unsigned>(team.rank().value)} {
        test::number_elements(array_);
        mirror_.emplace(array_.window());
    }

    void run(int steps) {
        constexpr std::array kinds{
            &ArrayWriter::write_elements, &ArrayWriter::update_elements, &ArrayWriter::write_unheard,
            &ArrayWriter::put_patch,      &ArrayWriter::put_view,        &ArrayWriter::scatter,
            &ArrayWriter::atomics,        &ArrayWriter::lists,           &ArrayWriter::read};
        for (int step = 0; step < steps; ++step) {
            expected_ = {};
            const auto kind = static_cast<std::size_t>(random_.number(0, kinds.size() - 1));
            INFO("step " << step << ", kind " << kind);
            Completion under_way = (this->*kinds[kind])();
            REQUIRE(mirror_->check(expected_) == "right");
            under_way.wait();
        }
        copy();
        mirror_.reset();
        team_.barrier();
    }

private:
    [[nodiscard]] Rank owner(const Index<2>& index) const { return map_.locate(index).owner; }
    /// Access by load and store: the window does not see writes to single elements.
    [[nodiscard]] bool is_mapped(const Index<2>& index) {
        const Path path = array_.window().path(owner(index));
        return path == Path::self || path == Path::direct;
    }
    void expect(const Index<2>& index) {
        const Location location = map_.locate(index);
        expected_.add(location.owner.value, location.offset * sizeof(T), sizeof(T));
    }
    [[nodiscard]] std::int64_t own_row() {
        return team_.rank().value +
               team_.size() * random_.number(0, (extents_[0] - 1 - team_.rank().value) / team_.size());
    }
    [[nodiscard]] Index<2> own_index() { return {own_row(), random_.number(0, extents_[1] - 1)}; }
    [[nodiscard]] T value() { return test::value_of<T>(static_cast<std::uint64_t>(random_.number(0, 1'000'000))); }
    [[nodiscard]] Domain<2> own_domain() {
        const std::int64_t column = random_.number(0, extents_[1] - 1);
        return Domain<2>{Range{own_row(), extents_[0]}.by(team_.size()),
                         Range{column, random_.number(column, extents_[1])}.by(random_.number(1, 3))};
    }
    /// Along a row, as what a cache makes fast.
    template <class Write>
    void along_row(Write write) {
        Index<2> index = own_index();
        const bool reads = random_.number(0, 1) == 0;
        for (std::int64_t count = random_.number(1, 30); count > 0 && index[1] < extents_[1]; --count, ++index[1]) {
            if (reads) (void)array_(index).get();
            if (!is_mapped(index)) write(index);
        }
    }

    Completion write_elements() {
        along_row([&](const Index<2>& index) {
            array_(index) = value();
            expect(index);
        });
        return {};
    }
    Completion update_elements() {
        along_row([&](const Index<2>& index) {
            if constexpr (std::is_arithmetic_v<T>) array_(index) += 3;
            else array_(index) = array_(index).get();
            expect(index);
        });
        return {};
    }
    /// What a cache entered while there were no copies must not hide later writes.
    Completion write_unheard() {
        const Index<2> first = own_index();
        array_.window().state().order().copies().remove(*mirror_);
        const auto along = [&](auto write) {
            for (Index<2> index = first; index[1] < extents_[1]; ++index[1])
                if (!is_mapped(index)) write(index);
        };
        along([&](const Index<2>& index) { array_(index) = value(); });
        along([&](const Index<2>& index) { array_(index) = value(); });
        array_.window().state().order().copies().add(*mirror_);
        along([&](const Index<2>& index) {
            array_(index) = value();
            expect(index);
        });
        return {};
    }
    [[nodiscard]] Domain<2> expected_domain() {
        const Domain<2> domain = own_domain();
        for (const Index<2>& index : domain) expect(index);
        return domain;
    }
    Completion put_patch() {
        const Domain<2> domain = expected_domain();
        buffer_.resize(domain.size());
        for (T& element : buffer_) element = value();
        if (random_.number(0, 1) == 0) return array_(domain).start_put(buffer_);
        array_(domain).put(buffer_);
        return {};
    }
    Completion put_view() {
        const Domain<2> domain = expected_domain();
        const auto rows = static_cast<std::int64_t>(domain.range(0).size());
        const auto columns = static_cast<std::int64_t>(domain.range(1).size());
        buffer_.resize(static_cast<std::size_t>(rows * (columns + 3) + 3));
        for (T& element : buffer_) element = value();
        const LocalView<T, 2> view{buffer_.data(), Extents<2>{rows, columns}, {columns + 3, 1}};
        if (random_.number(0, 1) == 0) return array_(domain).start_put(view);
        array_(domain).put(view);
        return {};
    }
    [[nodiscard]] std::vector<Index<2>> own_list() {
        std::vector<Index<2>> indices(static_cast<std::size_t>(random_.number(0, 60))); // some of them twice
        for (Index<2>& index : indices) {
            index = own_index();
            expect(index);
        }
        return indices;
    }
    Completion scatter() {
        const std::vector<Index<2>> indices = own_list();
        buffer_.resize(indices.size());
        for (T& element : buffer_) element = value();
        if (random_.number(0, 1) == 0) return array_.start_scatter(indices, buffer_);
        array_.scatter(indices, buffer_);
        return {};
    }
    Completion atomics() {
        if constexpr (AtomicValue<T>) {
            const Index<2> index = own_index();
            expect(index);
            const auto element = array_(index);
            switch (random_.number(0, 4)) {
            case 0: (void)element.atomic().fetch_add(value()); break;
            case 1: element.atomic().add(value()); break;
            case 2: (void)element.atomic().exchange(value(), std::memory_order_acq_rel); break;
            case 3: element.atomic().store(value()); break;
            default: (void)element.atomic().compare_swap(element.atomic().load(), value());
            }
        }
        return {};
    }
    Completion lists() {
        if constexpr (AtomicValue<T>) {
            expected_.may_be_lost = true;
            const std::vector<Index<2>> indices = own_list();
            buffer_.resize(indices.size());
            if (random_.number(0, 1) == 0) return array_.start_fetch(Atomic::add, indices, value(), buffer_);
            array_.compare_swap(indices, value(), value(), buffer_);
        }
        return {};
    }
    Completion read() {
        const Domain<2> domain = own_domain();
        buffer_.resize(domain.size());
        array_(domain).get(buffer_);
        const std::array<Index<2>, 2> indices{own_index(), own_index()};
        std::array<T, 2> values;
        array_.gather(indices, values);
        array_.release();
        return array_(domain).start_get(buffer_);
    }
    /// Gets into the local segments alone.
    void copy() {
        GlobalArray<T, 2> other{team_, extents_, Block{}};
        test::number_elements(other, 1000);
        const std::uint64_t acquires = mirror_->acquires();
        array_.copy_from(other);
        CHECK(mirror_->acquires() > acquires);
        CHECK(mirror_->check({}) == "right");
        other.close();
    }

    Team& team_;
    GlobalArray<T, 2> array_;
    BlockCyclicMap<2> map_;
    Extents<2> extents_;
    test::Random random_;
    std::vector<T> buffer_;
    Mirror::Expected expected_;
    std::optional<Mirror> mirror_; ///< destroyed before the array
};

template <class T>
void write_to_arrays() {
    Runtime runtime;
    const auto seed = static_cast<unsigned>(test::number_from_environment("TEST_SEED", 21));
    const auto steps = static_cast<int>(test::number_from_environment("TEST_STEPS", 100));
    ArrayWriter<T>{runtime, {23, 70}, Block{}, seed}.run(steps);
    ArrayWriter<T>{runtime, {23, 70}, Cyclic{{1, runtime.size()}}, seed + 10}.run(steps);
    ArrayWriter<T>{runtime, {19, 41}, BlockCyclic{.block = {3, 5}}, seed + 20}.run(steps);
}

} // namespace

TEST_CASE("copies are notified of every write to an array of integers") { write_to_arrays<std::int64_t>(); }
TEST_CASE("copies are notified of every write to an array of small floating point numbers") {
    write_to_arrays<float>();
}
TEST_CASE("copies are notified of every write to an array of structures") { write_to_arrays<test::Colour>(); }
