#include "emit.hpp"
#include "forall.hpp"
#include "loop_parts.hpp"
#include "nested_functions.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

using namespace clang;

namespace upcc {

void Emitter::add_statement(const Stmt* s, Pieces& pieces) {
    if (s == nullptr || s->getBeginLoc().isInvalid()) return;
    pieces.push_back({offset(s->getBeginLoc()), statement_end(s), statement(s)});
}

/// Of a loop that waits for another thread, which may need this processor.
void Emitter::add_loop_condition(const Stmt* loop, const Expr* condition, Pieces& pieces) {
    add_expression(condition, pieces, true);
    if (waits_for_others(context_, loop, condition))
        pieces.back().text = "(lapwing_upcc_look_again(), (" + pieces.back().text + "))";
}

/// Whether it calls another function, which may contain a upc_forall.
bool Emitter::calls(const Stmt* statement) {
    struct Finder : RecursiveASTVisitor<Finder> {
        bool found = false;
        bool VisitCallExpr(CallExpr*) { return !(found = true); }
    } finder;
    finder.TraverseStmt(const_cast<Stmt*>(statement));
    return finder.found;
}

/// The body of a upc_forall for the thread's own iterations: of the outermost one with an affinity, and of
/// no other.
std::string Emitter::forall_body(const ForStmt* loop, const Expr* affinity, const std::string& is_nested) {
    const bool points = Types::points_to_shared(affinity->getType());
    const std::string value = "(" + expression(affinity) + ")";
    const bool large =
        affinity->getType()->isUnsignedIntegerOrEnumerationType() && context_.getTypeSize(affinity->getType()) >= 64;
    const std::string owns = points  ? "lapwing_upcc_owns_place(" + value + ")"
                             : large ? "lapwing_upcc_owns_unsigned((unsigned long long)(" + value + "))"
                                     : "lapwing_upcc_owns_number((long long)(" + value + "))";
    ++foralls_;
    const std::string body = statement(loop->getBody());
    --foralls_;
    std::string out = "if (!(" + (is_nested.empty() ? "" : is_nested + " || ") + owns + ")) ; else ";
    if (!calls(loop->getBody())) return out + body;
    return out +
           "{ int lapwing_outer __attribute__((cleanup(lapwing_upcc_leave_forall), unused)) = "
           "lapwing_upcc_forall_depth++; " +
           body + " }";
}

std::string_view Emitter::loop_pragma(const ForStmt* loop) const {
    const std::string_view text = prepared_.text;
    for (std::size_t end = offset(loop->getBeginLoc());;) {
        while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
        const std::size_t begin = text.rfind('\n', end == 0 ? 0 : end - 1) + 1;
        const std::string_view line = text.substr(begin, end - begin);
        if (begin == 0 || !line.starts_with('#')) return {};
        if (line.starts_with("#pragma omp ")) return line;
        end = begin;
    }
}

/// A loop after pragmas such as `unroll`, which the loops that it becomes have instead.
std::string Emitter::hinted_loop(const AttributedStmt* hinted, const ForStmt* loop) {
    const std::size_t begin = offset(hinted->getBeginLoc()), first = offset(loop->getBeginLoc());
    const std::string before = source(begin, first);
    loop_hint_.clear();
    for (std::size_t at = 0; at < before.size();) {
        const std::size_t end = std::min(before.find('\n', at), before.size());
        constexpr std::string_view pragma = "#pragma ";
        if (before.compare(at, pragma.size(), pragma) == 0)
            loop_hint_ += "_Pragma(\"" + quoted(before.substr(at + pragma.size(), end - at - pragma.size())) + "\") ";
        at = end + 1;
    }
    const std::string text = for_loop(loop);
    return text.starts_with('{') ? line_marker(first) + text : before + text;
}

std::string Emitter::for_loop(const ForStmt* loop) {
    const std::string_view pragma = loop_pragma(loop);
    const bool plain = !pragma.empty() || plain_loops_ > 0, of_nested = pragma.find("collapse") != pragma.npos;
    plain_loops_ += of_nested ? 1 : 0;
    std::string text = for_loop(loop, plain);
    plain_loops_ -= of_nested ? 1 : 0;
    return text;
}

/// The start of a loop: declarations that must be in front of it, and what is in its place.
struct Emitter::LoopStart {
    std::string before;
    std::string text; ///< a statement
    Pieces pieces;
};

Emitter::LoopStart Emitter::loop_start(const ForStmt* loop, bool plain) {
    const Stmt* const start = loop->getInit();
    LoopStart out;
    if (const auto* const declared = dyn_cast_or_null<DeclStmt>(start)) {
        const bool written = std::any_of(declared->decl_begin(), declared->decl_end(),
                                         [&](const Decl* one) { return must_be_written(one); });
        // A pragma before the loop must be followed by the loop itself.
        const bool apart = written && !(plain && declared->isSingleDecl());
        (apart ? out.before : out.text) = statement(declared);
        out.pieces.push_back(
            {offset(start->getBeginLoc()), end_offset(start->getEndLoc()), apart ? std::string{";"} : out.text});
    } else if (start != nullptr) {
        add_expression(cast<Expr>(start), out.pieces);
        out.text = out.pieces.front().text + ";";
    }
    return out;
}

/// A plain one stays a loop, without a block around it.
std::string Emitter::for_loop(const ForStmt* loop, bool plain) {
    const std::string hint = std::exchange(loop_hint_, {});
    LoopStart start = loop_start(loop, plain);
    Pieces pieces;
    add_loop_condition(loop, loop->getCond(), pieces);
    const Expr* affinity = nullptr;
    if (!is_forall(loop)) {
        add_expression(loop->getInc(), pieces);
    } else {
        affinity = forall_affinity(loop);
        const Expr* const step = forall_step(loop);
        pieces.push_back({offset(loop->getInc()->getBeginLoc()), end_offset(loop->getInc()->getEndLoc()),
                          step != nullptr ? expression(step) : std::string{}});
    }
    std::string nested;
    const bool shares = affinity != nullptr && foralls_ == 0;
    if (shares) {
        constexpr const char* is_nested = "lapwing_upcc_forall_depth != 0";
        nested = plain ? is_nested : "lapwing_nested_" + std::to_string(offset(loop->getBeginLoc()));
        if (!plain) start.before += "const int " + nested + " = " + is_nested + "; ";
        pieces.push_back({offset(loop->getBody()->getBeginLoc()), statement_end(loop->getBody()),
                          forall_body(loop, affinity, nested)});
    } else {
        add_statement(loop->getBody(), pieces);
    }
    const auto with = [&](const Pieces& beginning) {
        Pieces all = beginning;
        all.insert(all.end(), pieces.begin(), pieces.end());
        return splice(offset(loop->getBeginLoc()), statement_end(loop), all);
    };
    if (plain) {
        explain_plain(loop);
    } else {
        // The start separately, before the two loops.
        Pieces none = start.pieces;
        for (Piece& piece : none) piece.text = isa<DeclStmt>(loop->getInit()) ? ";" : "";
        const std::string otherwise = hint + with(none);
        const std::string loops = shares            ? own_loop(loop, nested, hint, otherwise)
                                  : is_forall(loop) ? std::string{}
                                                    : near_loop(loop, hint, otherwise);
        if (!loops.empty()) return "{ " + start.before + start.text + loops + " }";
    }
    const std::string text = with(start.pieces);
    return start.before.empty() ? text : "{ " + start.before + hint + text + " }";
}

std::string Emitter::declaration_statement(const DeclStmt* statement) {
    Group declarations{statement->decl_begin(), statement->decl_end()};
    // Nested functions are declared at file scope.
    if (const auto* const function = dyn_cast<FunctionDecl>(declarations.front());
        function != nullptr && function->getName().starts_with(nested_prefix))
        return ";";
    return group(declarations, offset(statement->getBeginLoc()), end_offset(statement->getEndLoc()));
}

std::string Emitter::statement(const Stmt* s) {
    const std::size_t begin = offset(s->getBeginLoc());
    const std::size_t end = statement_end(s);
    Pieces pieces;
    if (const auto* const one = dyn_cast<DeclStmt>(s)) return declaration_statement(one);
    if (const FunctionDecl* const nested = nested_function(s)) return nested_definition(cast<IfStmt>(s), nested);
    if (const auto* const one = dyn_cast<ForStmt>(s)) return for_loop(one);
    if (const auto* const one = dyn_cast<Expr>(s)) {
        add_expression(one, pieces);
    } else if (const auto* const one = dyn_cast<CompoundStmt>(s)) {
        for (const Stmt* const part : one->body()) add_statement(part, pieces);
    } else if (const auto* const one = dyn_cast<IfStmt>(s)) {
        add_expression(one->getCond(), pieces, true);
        add_statement(one->getThen(), pieces);
        add_statement(one->getElse(), pieces);
    } else if (const auto* const one = dyn_cast<WhileStmt>(s)) {
        add_loop_condition(one, one->getCond(), pieces);
        add_statement(one->getBody(), pieces);
    } else if (const auto* const one = dyn_cast<DoStmt>(s)) {
        add_statement(one->getBody(), pieces);
        add_loop_condition(one, one->getCond(), pieces);
    } else if (const auto* const one = dyn_cast<SwitchStmt>(s)) {
        add_expression(one->getCond(), pieces);
        add_statement(one->getBody(), pieces);
    } else if (const auto* const one = dyn_cast<SwitchCase>(s)) {
        if (const auto* const label = dyn_cast<CaseStmt>(one)) {
            add_expression(label->getLHS(), pieces);
            add_expression(label->getRHS(), pieces);
        }
        add_statement(one->getSubStmt(), pieces);
    } else if (const auto* const one = dyn_cast<LabelStmt>(s)) {
        add_statement(one->getSubStmt(), pieces);
    } else if (const auto* const one = dyn_cast<AttributedStmt>(s)) {
        if (const auto* const loop = dyn_cast<ForStmt>(one->getSubStmt())) return hinted_loop(one, loop);
        add_statement(one->getSubStmt(), pieces);
    } else {
        for (const Stmt* const child : s->children())
            if (const auto* const part = dyn_cast_or_null<Expr>(child)) add_expression(part, pieces);
    }
    return splice(begin, end, pieces);
}

} // namespace upcc
