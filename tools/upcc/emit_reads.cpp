// Loops that read shared elements in blocks.
#include "emit.hpp"

using namespace clang;

namespace upcc {

/// The C lvalue of an element that the loop has read already, or of a part of it; empty where there is none.
std::string Emitter::read_place(const Expr* lvalue) {
    if (reads_.empty()) return {};
    lvalue = lvalue->IgnoreParens();
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue)) {
        const auto known = reads_.find(source(subscript->getSourceRange()));
        return known == reads_.end() ? std::string{} : known->second;
    }
    const auto* const member = dyn_cast<MemberExpr>(lvalue);
    if (member == nullptr || member->isArrow()) return {};
    const std::string base = read_place(member->getBase());
    const auto* const field = cast<FieldDecl>(member->getMemberDecl());
    return base.empty() || field->isAnonymousStructOrUnion() ? base : base + "." + field->getName().str();
}

/// The loop by blocks, and `otherwise` for where it stores to shared memory by a pointer-to-private; both without the
/// loop's start. Empty where it must stay as it is.
std::string Emitter::block_read_loop(const ForStmt* loop, const std::string& otherwise) {
    if (!optimisations_.block_reads || function_ == nullptr || !reads_.empty()) return {};
    std::string reason;
    const ReadLoop found =
        block_reads_.find(loop, function_, [&](const Expr* lvalue) { return is_strict(lvalue); }, reason);
    const std::string number = std::to_string(offset(loop->getBeginLoc()));
    std::string places, runs, fetches;
    std::map<std::string, std::string> reads;
    for (const ArraySubscriptExpr* const read : found.reads) {
        const std::string key = source(read->getSourceRange());
        if (!own_place(read).empty() || reads.count(key) != 0) continue;
        const std::string k = number + "_" + std::to_string(reads.size());
        const std::string bytes = element_bytes(read->getType());
        places += "const lapwing_upc_pointer lapwing_p_" + k + " = " + place(read) + "; ";
        runs += "lapwing_n = lapwing_upcc_run(lapwing_p_" + k + ", " + bytes + ", " +
                block(Types::pointee(read->getBase()->getType()), read->getBase()) + ", lapwing_n); ";
        fetches += "char lapwing_b_" + k + "[lapwing_upcc_run_bytes] __attribute__((aligned(16))); const " +
                   value_type(read->getType()) + "* const lapwing_r_" + k + " = lapwing_upcc_fetch(lapwing_p_" + k +
                   ", lapwing_n * " + bytes + ", lapwing_b_" + k + "); ";
        reads.emplace(key, "lapwing_r_" + k + "[lapwing_j_" + number + "]");
    }
    if (reads.empty()) {
        if (!reason.empty()) explain(loop, "loop reads element by element: " + reason);
        return {};
    }
    explain(loop, "loop reads in blocks: " + std::to_string(reads.size()) + " of its accesses");
    reads_ = reads;
    const std::string body = statement(loop->getBody());
    reads_.clear();
    const std::string index = found.index->getName().str(), j = "lapwing_j_" + number;
    const std::string left =
        "(long long)(" + expression(found.end) + ")" + (found.inclusive ? " + 1" : "") + " - " + index;
    std::string guard;
    for (const VarDecl* const pointer : found.targets)
        guard += " && !lapwing_upcc_in_heap(" + pointer->getName().str() + ")";
    return "if ((" + condition(loop->getCond()) + ") && " + index + " >= 0" + guard +
           ") { do { size_t lapwing_n = (size_t)(" + left + "); " + places + runs + fetches + "for (size_t " + j +
           " = 0, lapwing_m = lapwing_n; " + j + " < lapwing_m; ++" + j + ", ++" + index + ") " +
           line_marker(offset(loop->getBody()->getBeginLoc())) + body + " } while (" + left + " > 0); } else " +
           line_marker(offset(loop->getBeginLoc())) + otherwise;
}

} // namespace upcc
