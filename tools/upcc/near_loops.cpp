// Which loops can be written with loads and stores for where all that they access is near.
#include "near_loops.hpp"

#include "forall.hpp"
#include "loop_parts.hpp"

#include <algorithm>

using namespace clang;

namespace upcc {

namespace {

/// Whether a loop can be written twice, and ends without another thread's help, although its loads may be moved.
class Body : public RecursiveASTVisitor<Body> {
public:
    bool possible = true;
    std::vector<const Expr*> shared;

    bool VisitStmt(Stmt* statement) {
        possible =
            possible &&
            !isa<ForStmt, WhileStmt, DoStmt, GotoStmt, IndirectGotoStmt, LabelStmt, AddrLabelExpr, AsmStmt, StmtExpr>(
                statement);
        return possible;
    }
    bool VisitDecl(Decl* declaration) {
        const auto* const one = dyn_cast<VarDecl>(declaration);
        possible = possible && !declares_type(declaration) && (one == nullptr || one->hasLocalStorage());
        return possible;
    }
    bool VisitExpr(Expr* expression) {
        if (!expression->isGLValue() || !Types::is_shared(expression->getType())) return true;
        possible = possible && !expression->getType().isVolatileQualified();
        if (!expression->getType()->isArrayType()) shared.push_back(expression->IgnoreParens());
        return possible;
    }
};

/// i of a step by a constant.
[[nodiscard]] const VarDecl* counted(const Expr* step) {
    if (step == nullptr) return nullptr;
    step = step->IgnoreParens();
    if (const auto* const one = dyn_cast<UnaryOperator>(step))
        return one->isIncrementDecrementOp() ? variable(one->getSubExpr()) : nullptr;
    const auto* const add = dyn_cast<BinaryOperator>(step);
    if (add == nullptr || (add->getOpcode() != BO_AddAssign && add->getOpcode() != BO_SubAssign)) return nullptr;
    return isa<IntegerLiteral>(add->getRHS()->IgnoreParenImpCasts()) ? variable(add->getLHS()) : nullptr;
}

/// Whether the number of iterations is known when the loop begins.
[[nodiscard]] bool is_counted(const ForStmt* loop, const Changes& in_body, const Changes& in_function) {
    const VarDecl* const index = counted(loop->getInc());
    const auto* const test = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (!is_index(index, in_body, in_function) || test == nullptr || !test->isComparisonOp()) return false;
    const Steady steady{in_body, in_function};
    return (variable(test->getLHS()) == index && steady.number(test->getRHS())) ||
           (variable(test->getRHS()) == index && steady.number(test->getLHS()));
}

} // namespace

bool NearLoops::is_in_one_block(const Expr* array) const {
    const QualType type = array->getType();
    if (!type->isArrayType() || !Types::is_shared(type)) return false;
    const Layout layout = types_.layout(type);
    if (layout.is_indefinite()) return true;
    const auto elements = types_.elements(type);
    return layout.kind == Layout::Kind::blocks && elements && *elements != 0 && layout.block % *elements == 0;
}

const Expr* NearLoops::base_of(const Expr* lvalue) const {
    const auto of_pointer = [&](const Expr* pointer) -> const Expr* {
        pointer = pointer->IgnoreParens();
        const QualType type = pointer->getType();
        if (!Types::points_to_shared(type)) return nullptr;
        const auto* const decay = dyn_cast<ImplicitCastExpr>(pointer);
        if (decay != nullptr && decay->getCastKind() == CK_ArrayToPointerDecay) {
            const Expr* const array = decay->getSubExpr()->IgnoreParens();
            // The largest array around that is within one block is the one that stays.
            if (const Expr* const outer = base_of(array)) return outer;
            return is_in_one_block(array) ? array : nullptr;
        }
        const QualType to = Types::pointee(type);
        const QualType element = types_.element(to);
        if (element->isVoidType() || element->isIncompleteType() || !types_.layout(to).is_indefinite()) return nullptr;
        return decay != nullptr && decay->getCastKind() == CK_LValueToRValue ? pointer : nullptr;
    };
    lvalue = lvalue->IgnoreParens();
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue))
        return subscript->getBase()->getType()->isVectorType() ? nullptr : of_pointer(subscript->getBase());
    if (const auto* const member = dyn_cast<MemberExpr>(lvalue)) {
        if (cast<FieldDecl>(member->getMemberDecl())->isBitField()) return nullptr;
        return member->isArrow() ? of_pointer(member->getBase()) : base_of(member->getBase());
    }
    const auto* const content = dyn_cast<UnaryOperator>(lvalue);
    return content != nullptr && content->getOpcode() == UO_Deref ? of_pointer(content->getSubExpr()) : nullptr;
}

NearLoop NearLoops::find(const ForStmt* loop, const FunctionDecl* function,
                         const std::function<bool(const Expr*)>& is_strict) const {
    Body body;
    body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    if (!body.possible || body.shared.empty() || std::any_of(body.shared.begin(), body.shared.end(), is_strict))
        return {};
    Changes in_body, in_function;
    in_body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    in_function.TraverseStmt(function->getBody());
    in_body.changed.insert(in_body.declared.begin(), in_body.declared.end());
    if (!is_counted(loop, in_body, in_function)) return {};
    in_body.changed.insert(counted(loop->getInc()));
    Always always;
    always.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    const Steady steady{in_body, in_function};
    NearLoop found;
    for (const Expr* const place : body.shared) {
        const Expr* const base = base_of(place);
        // A variable can be read at any time; what else leads to a pointer, only if the first iteration does it.
        if (base == nullptr || names_own(base, in_body) || !steady.base(base) ||
            (variable(base) == nullptr && always.expressions.count(base) == 0))
            continue;
        found.bases.push_back(base);
    }
    return found;
}

} // namespace upcc
