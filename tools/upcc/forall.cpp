#include "forall.hpp"

using namespace clang;

namespace upcc {

namespace {

[[nodiscard]] const BinaryOperator* comma(const Expr* expression) {
    const auto* const operation = dyn_cast_or_null<BinaryOperator>(expression);
    return operation != nullptr && operation->getOpcode() == BO_Comma ? operation : nullptr;
}

/// The brackets with the marker, or null.
[[nodiscard]] const ParenExpr* marked(const ForStmt* loop) {
    const Expr* last = loop->getInc();
    if (const BinaryOperator* const steps = comma(last)) last = steps->getRHS();
    const auto* const brackets = last == nullptr ? nullptr : dyn_cast<ParenExpr>(last->IgnoreImpCasts());
    if (brackets == nullptr) return nullptr;
    const Expr* first = brackets->getSubExpr()->IgnoreImpCasts();
    if (const BinaryOperator* const both = comma(first)) first = both->getLHS()->IgnoreImpCasts();
    const auto* const name = dyn_cast<DeclRefExpr>(first);
    return name != nullptr && name->getDecl()->getName() == "lapwing_upcc_affinity" ? brackets : nullptr;
}

} // namespace

bool is_forall(const ForStmt* loop) { return marked(loop) != nullptr; }

const Expr* forall_step(const ForStmt* loop) {
    const BinaryOperator* const steps = comma(loop->getInc());
    return steps == nullptr ? nullptr : steps->getLHS();
}

const Expr* forall_affinity(const ForStmt* loop) {
    const BinaryOperator* const both = comma(marked(loop)->getSubExpr());
    return both == nullptr ? nullptr : both->getRHS()->IgnoreParens();
}

} // namespace upcc
