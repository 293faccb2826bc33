// Loops that read shared elements in blocks.
#include "emit.hpp"
#include "forall.hpp"

using namespace clang;

namespace upcc {

/// The C lvalue of a member of a structure that is one; those of anonymous structures belong to what these are in.
std::string Emitter::part_of(const std::string& whole, const MemberExpr* member) {
    const auto* const field = cast<FieldDecl>(member->getMemberDecl());
    return whole.empty() || field->isAnonymousStructOrUnion() ? whole : whole + "." + field->getName().str();
}

/// The C lvalue that stands for this one in the loop that is being written, or for a part of it; empty if there is
/// none.
std::string Emitter::place_in(const Places& places, const Expr* lvalue) const {
    if (places.empty()) return {};
    lvalue = lvalue->IgnoreParens();
    if (const auto known = places.find(source(lvalue->getSourceRange())); known != places.end()) return known->second;
    const auto* const member = dyn_cast<MemberExpr>(lvalue);
    if (member == nullptr || member->isArrow()) return {};
    return part_of(place_in(places, member->getBase()), member);
}

/// The parts of a loop by blocks: what is before all iterations, before those of a block, before each, and after those
/// of a block.
struct Emitter::BlockLoop {
    std::string before, places, runs, fetches, each, after;
    Places reads, writes, near_runs;
    std::string all_near; ///< whether all of near_runs are
    int in_blocks = 0, in_lists = 0, once = 0;
    // Lists: how many elements at a time, what reads them, whether all that they would read has been copied, and the
    // reads of the copies.
    std::string list_lengths, lists, all_copied, before_copied;
    Places copied;
};

/// Where a run begins, and how long it is.
void Emitter::add_place(const ArraySubscriptExpr* element, const std::string& name, BlockLoop& out) {
    const QualType to = Types::pointee(element->getBase()->getType());
    out.places += "const lapwing_upc_pointer lapwing_p_" + name + " = " + place(element) + "; ";
    // What an iteration accesses in blocks of one is next to what the one before did: by rounds, or steps of THREADS.
    out.runs += "lapwing_n = lapwing_upcc_run(lapwing_p_" + name + ", " + element_bytes(element->getType()) + ", " +
                (block_reads_.is_dealt(element) ? "0" : block(to, element->getBase())) + ", lapwing_n); ";
}

/// A run of elements that is loaded and stored where it is near.
void Emitter::add_near_run(const ArraySubscriptExpr* element, const std::string& number, BlockLoop& out) {
    const std::string key = source(element->getSourceRange());
    if (!own_place(element).empty() || out.near_runs.count(key) != 0 || out.near_runs.size() >= most_near) return;
    const std::string k = number + "_u" + std::to_string(out.near_runs.size());
    add_place(element, k, out);
    out.fetches += value_type(element->getType()) + "* const lapwing_r_" + k +
                   " = (void*)lapwing_upc_near_place(lapwing_p_" + k + ", 1); ";
    out.all_near += (out.all_near.empty() ? "" : " && ") + ("lapwing_r_" + k) + " != 0";
    out.near_runs.emplace(key, "lapwing_r_" + k + "[lapwing_j_" + number + "]");
}

/// A run of elements that is read, or written, in one piece.
void Emitter::add_run(const ArraySubscriptExpr* element, bool writes, const std::string& number, BlockLoop& out) {
    const std::string key = source(element->getSourceRange());
    auto& known = writes ? out.writes : out.reads;
    if (!own_place(element).empty() || known.count(key) != 0) return;
    const std::string k = number + (writes ? "_w" : "_") + std::to_string(known.size());
    const std::string buffer = std::to_string(known.size() + (writes ? most_runs : 0));
    const std::string bytes = element_bytes(element->getType());
    const std::string type = value_type(element->getType());
    add_place(element, k, out);
    out.fetches += (writes ? "" : "const ") + type + "* const lapwing_r_" + k + " = " +
                   (writes ? "lapwing_upcc_gather" : "lapwing_upcc_fetch") + "(lapwing_p_" + k +
                   (writes ? "" : ", lapwing_n * " + bytes) + ", " + buffer + "); ";
    if (writes)
        out.after += "lapwing_upcc_scatter(lapwing_p_" + k + ", lapwing_r_" + k + ", lapwing_m_" + number + " * " +
                     bytes + "); ";
    known.emplace(key, "lapwing_r_" + k + "[lapwing_j_" + number + "]");
    if (!writes) ++out.in_blocks;
}

/// Elements that are read as a list. The loop that finds their indices has an index of the same name.
void Emitter::add_list(const ArraySubscriptExpr* element, const ReadLoop& loop, const std::string& number,
                       BlockLoop& out) {
    const std::string key = source(element->getSourceRange());
    if (!own_place(element).empty() || out.reads.count(key) != 0) return;
    const std::string k = number + "_l" + std::to_string(out.in_lists);
    const std::string bytes = element_bytes(element->getType());
    const std::string type = value_type(element->getType());
    const Expr* const base = element->getBase();
    const QualType to = Types::pointee(base->getType());
    const std::string index = loop.index->getName().str(), index_type = value_type(loop.index->getType());
    const std::string m = "lapwing_m_" + number, x = "lapwing_x_" + k, of = "lapwing_b_" + k, d = "lapwing_d_" + k;
    const std::string in_block = block(to, base), at = expression(element->getIdx());
    const auto buffer = [](std::size_t which) { return "lapwing_upcc_buffer(" + std::to_string(which) + ")"; };
    out.before += "const lapwing_upc_pointer " + of + " = " + expression(base) + "; lapwing_upc_places " + d + "; ";
    out.all_copied += (out.all_copied.empty() ? "" : " && ") + ("lapwing_upc_find_places(&" + d) + ", " + of + ", " +
                      bytes + ", " + in_block + ", lapwing_a_" + number + ")";
    out.list_lengths += "lapwing_n = lapwing_upcc_listed(" + bytes + ", lapwing_n); ";
    out.lists += "ptrdiff_t* const " + x + " = " + buffer(2 * most_runs + most_lists) + "; { const " + index_type +
                 " lapwing_i = " + index + "; for (size_t lapwing_j = 0; lapwing_j < " + m + "; ++lapwing_j) { const " +
                 index_type + " " + index + " = lapwing_i + lapwing_j" + (loop.by_threads ? " * THREADS" : "") + "; " +
                 x + "[lapwing_j] = (ptrdiff_t)(" + at + ")" + step(to) + "; } } const " + type + "* const lapwing_r_" +
                 k + " = " + buffer(2 * most_runs + static_cast<std::size_t>(out.in_lists)) +
                 "; lapwing_upc_get_elements((void*)lapwing_r_" + k + ", " + of + ", " + bytes + ", " + in_block +
                 ", " + x + ", " + m + "); ";
    out.reads.emplace(key, "lapwing_r_" + k + "[lapwing_j_" + number + "]");
    // Of its own object, whose address nobody else has, so that the loop keeps it in registers.
    const std::string own = "lapwing_e_" + k;
    out.before_copied += "const lapwing_upc_places " + own + " = " + d + "; ";
    out.copied.emplace(key, "({ " + type + " lapwing_v; lapwing_upc_read_place(&lapwing_v, &" + own + ", " + bytes +
                                ", " + in_block + ", (ptrdiff_t)(" + at + ")" + step(to) + "); lapwing_v; })");
    ++out.in_lists;
}

/// What is read once: before all iterations, or in each.
void Emitter::add_copies(const ReadLoop& found, const std::string& number, BlockLoop& out) {
    const auto copy = [&](const Expr* read, std::string& where) {
        const std::string name = "lapwing_c_" + number + "_" + std::to_string(out.once++);
        const std::string type = value_type(read->getType());
        where += "const " + type + " " + name + " = " + load(type, place(read), false) + "; ";
        out.reads.emplace(source(read->getSourceRange()), name);
    };
    for (const Expr* const read : found.steady)
        if (out.reads.count(source(read->getSourceRange())) == 0) copy(read, out.before);
    std::map<std::string, int> times;
    for (const Expr* const read : found.repeated)
        if (own_place(read).empty() && ++times[source(read->getSourceRange())] == 2) copy(read, out.each);
}

ReadLoop Emitter::read_loop(const ForStmt* loop, std::string& reason, bool by_threads) {
    return block_reads_.find(
        loop, function_, [&](const Expr* lvalue) { return is_strict(lvalue); }, reason, by_threads);
}

/// A loop that is left as it is for the pragma before it.
void Emitter::explain_plain(const ForStmt* loop) {
    const std::string why = ": a pragma before it is for the loop as it is";
    if (is_forall(loop)) {
        if (optimisations_.own_loops) explain(loop, "upc_forall goes through all iterations" + why);
        return;
    }
    if (!optimisations_.explain || !optimisations_.block_reads || function_ == nullptr) return;
    std::string reason;
    const ReadLoop found = read_loop(loop, reason);
    if (!reason.empty() || !found.reads.empty() || !found.writes.empty() || !found.lists.empty() ||
        !found.steady.empty())
        explain(loop, "loop accesses element by element" + why);
}

/// The loop by blocks, and `otherwise` for where it must run as it is; both without the loop's start. Empty where it
/// must stay as it is. `own`: it goes through the thread's own iterations.
std::string Emitter::block_read_loop(const ForStmt* loop, const std::string& hint, const std::string& otherwise,
                                     const std::string& subject, const OwnLoop* own, bool with_near) {
    const Optimisations& o = optimisations_;
    if (!(o.block_reads || o.block_writes || o.list_reads || o.merged_reads || o.near_loops) || function_ == nullptr)
        return {};
    if (!reads_.empty() || !writes_.empty() || !near_runs_.empty()) return {};
    std::string reason;
    const ReadLoop found = read_loop(loop, reason, own != nullptr && own->block == 1);
    const std::string number = std::to_string(offset(loop->getBeginLoc()));
    BlockLoop parts;
    for (const ArraySubscriptExpr* const read : found.reads) add_run(read, false, number, parts);
    for (const ArraySubscriptExpr* const write : found.writes) add_run(write, true, number, parts);
    for (const ArraySubscriptExpr* const read : found.lists) add_list(read, found, number, parts);
    // Not beside lists: the loop would be there too many times.
    if (with_near && parts.in_lists == 0)
        for (const ArraySubscriptExpr* const place : found.near) add_near_run(place, number, parts);
    add_copies(found, number, parts);
    if (parts.reads.empty() && parts.writes.empty() && parts.near_runs.empty()) {
        if (!reason.empty() && own == nullptr) explain(loop, subject + " accesses element by element: " + reason);
        return {};
    }
    std::string what;
    const auto add = [&](std::size_t count, const std::string& text) {
        if (count > 0)
            what += (what.empty() ? subject + " " : ", ") + text + ": " + std::to_string(count) + " of its accesses";
    };
    add(static_cast<std::size_t>(parts.in_blocks), "reads in blocks");
    add(parts.writes.size(), "writes in blocks");
    add(static_cast<std::size_t>(parts.in_lists), "reads lists");
    add(static_cast<std::size_t>(parts.once), "reads once");
    add(parts.near_runs.size(), "loads and stores where near");
    explain(loop, what);
    const auto body = [&](const Places& reads, const Places& near_runs) {
        reads_ = reads;
        writes_ = parts.writes;
        near_runs_ = near_runs;
        std::string text = statement(loop->getBody());
        reads_.clear();
        writes_.clear();
        near_runs_.clear();
        return text;
    };
    Places copied = parts.copied;
    copied.insert(parts.reads.begin(), parts.reads.end());
    Bodies bodies{body(parts.reads, {}), {}, {}};
    if (parts.in_lists > 0) bodies.of_copies = body(copied, {});
    if (!parts.near_runs.empty()) bodies.near = body(parts.reads, parts.near_runs);
    return block_loop_text(loop, found, parts, own == nullptr ? counting(loop, found) : counting(*own), hint, bodies) +
           line_marker(offset(loop->getBeginLoc())) + otherwise;
}

Emitter::Counting Emitter::counting(const ForStmt* loop, const ReadLoop& found) {
    const std::string index = found.index->getName().str();
    const std::string end = "(long long)(" + expression(found.end) + ")" + (found.inclusive ? " + 1" : "");
    return {"(" + condition(loop->getCond()) + ") && " + index + " >= 0",
            found.by_threads ? "(" + end + " - " + index + " + THREADS - 1) / THREADS" : end + " - " + index,
            found.by_threads ? index + " += THREADS" : "++" + index, ""};
}

std::string Emitter::block_loop_text(const ForStmt* loop, const ReadLoop& found, const BlockLoop& parts,
                                     const Counting& counting, const std::string& hint, const Bodies& bodies) {
    const std::string number = std::to_string(offset(loop->getBeginLoc()));
    const std::string j = "lapwing_j_" + number, m = "lapwing_m_" + number;
    const std::string& left = counting.left;
    std::string guard;
    if (!parts.reads.empty())
        for (const VarDecl* const pointer : found.targets)
            guard += " && !lapwing_upcc_in_heap(" + pointer->getName().str() + ")";
    std::set<std::string> apart;
    for (const auto& [one, other] : found.apart)
        apart.insert(" && lapwing_upcc_apart(" + expression(one) + ", " + expression(other) + ")");
    for (const std::string& condition : apart) guard += condition;
    const auto iterations = [&](const std::string& text) {
        return hint + "for (size_t " + j + " = 0; " + j + " < " + m + "; ++" + j + ", " + counting.step + ") { " +
               counting.at_start + parts.each + line_marker(offset(loop->getBody()->getBeginLoc())) + text + " } ";
    };
    std::string all = iterations(bodies.usual), lengths, copies;
    if (!parts.near_runs.empty())
        all = "if (" + parts.all_near + ") { " + iterations(bodies.near) + "} else { " + all + "} ";
    if (parts.in_lists > 0) {
        // For a few elements a list costs more than it spares.
        guard += " && " + left + " >= lapwing_upcc_shortest_list";
        const std::string copied = "lapwing_c_" + number;
        copies = "const size_t lapwing_a_" + number + " = (size_t)(" + left + "); const int " + copied + " = " +
                 parts.all_copied + "; ";
        lengths = "if (!" + copied + ") { " + parts.list_lengths + "} ";
        all = "if (" + copied + ") { " + parts.before_copied + iterations(bodies.of_copies) + "} else { " +
              parts.lists + all + "} ";
    }
    return "if (" + counting.condition + guard + ") { " + counting.at_start + parts.before + copies +
           "__asm__ volatile(\"\" ::: \"memory\"); do { " + counting.at_start + "size_t lapwing_n = (size_t)(" + left +
           "); " + parts.places + parts.runs + lengths + "const size_t " + m + " = lapwing_n; " + parts.fetches + all +
           parts.after + "} while (" + left + " > 0); } else ";
}

} // namespace upcc
