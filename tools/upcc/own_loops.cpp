// Which upc_forall loops can visit the calling thread's own iterations only.
#include "own_loops.hpp"

#include "forall.hpp"
#include "loop_parts.hpp"

#include <set>

using namespace clang;

namespace upcc {

namespace {

[[nodiscard]] bool reads_shared(const Stmt* statement) {
    struct Finder : RecursiveASTVisitor<Finder> {
        bool found = false;
        bool VisitImplicitCastExpr(ImplicitCastExpr* cast) {
            found =
                found || (cast->getCastKind() == CK_LValueToRValue && Types::is_shared(cast->getSubExpr()->getType()));
            return !found;
        }
    } finder;
    if (statement != nullptr) finder.TraverseStmt(const_cast<Stmt*>(statement));
    return finder.found;
}

/// What a body must not contain: it is written twice, all of its iterations run, and its loops must end without another
/// thread's help, since the compiler may keep local elements in registers.
class Body : public RecursiveASTVisitor<Body> {
public:
    std::string reason;

    bool VisitStmt(Stmt* statement) {
        if (isa<GotoStmt, IndirectGotoStmt, LabelStmt, AddrLabelExpr>(statement))
            because("its body has labels or goto");
        if (isa<AsmStmt>(statement)) because("its body has assembly");
        if (isa<ReturnStmt>(statement)) because("its body returns");
        if (isa<BreakStmt>(statement) && depth_ == 0) because("its body has a break");
        return reason.empty();
    }
    bool VisitDecl(Decl* declaration) {
        const auto* const one = dyn_cast<VarDecl>(declaration);
        if (declares_type(declaration) || (one != nullptr && !one->hasLocalStorage()))
            because("its body has a static object, or a structure of its own");
        return reason.empty();
    }
    bool TraverseForStmt(ForStmt* loop) {
        if (is_forall(loop)) because("there is another upc_forall in it");
        if (loop->getInc() == nullptr ? reads_shared(loop) : reads_shared(loop->getCond())) waits();
        return inside([&] { return RecursiveASTVisitor::TraverseForStmt(loop); });
    }
    bool TraverseWhileStmt(WhileStmt* loop) {
        if (reads_shared(loop)) waits();
        return inside([&] { return RecursiveASTVisitor::TraverseWhileStmt(loop); });
    }
    bool TraverseDoStmt(DoStmt* loop) {
        if (reads_shared(loop)) waits();
        return inside([&] { return RecursiveASTVisitor::TraverseDoStmt(loop); });
    }
    bool TraverseSwitchStmt(SwitchStmt* choice) {
        return inside([&] { return RecursiveASTVisitor::TraverseSwitchStmt(choice); });
    }

private:
    void because(const char* text) {
        if (reason.empty()) reason = text;
    }
    void waits() { because("a loop in its body may wait for what another thread writes"); }
    template <class Step>
    bool inside(Step&& step) {
        ++depth_;
        const bool go_on = step();
        --depth_;
        return go_on && reason.empty();
    }

    int depth_ = 0; ///< nested loops and switches, which a break may leave
};

} // namespace

std::optional<std::int64_t> OwnLoops::constant(const Expr* expression) const {
    struct Finder : RecursiveASTVisitor<Finder> {
        bool found = false;
        bool VisitDeclRefExpr(DeclRefExpr* reference) {
            found = found || reference->getDecl()->getName() == "THREADS";
            return true;
        }
        // Sizes of shared arrays depend on THREADS, and the operators of UPC may.
        bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr* size) {
            found = found || Types::is_shared(size->getTypeOfArgument());
            return true;
        }
    } finder;
    finder.TraverseStmt(const_cast<Expr*>(expression));
    Expr::EvalResult value;
    if (finder.found || !expression->EvaluateAsInt(value, context_)) return std::nullopt;
    const llvm::APSInt& number = value.Val.getInt();
    if (number.getSignificantBits() > 32) return std::nullopt;
    return number.getExtValue();
}

std::optional<std::int64_t> OwnLoops::shift(const Expr* expression, const VarDecl* index) const {
    expression = expression->IgnoreParenImpCasts();
    if (variable(expression) == index) return 0;
    const auto* const operation = dyn_cast<BinaryOperator>(expression);
    // An unsigned sum may wrap around.
    if (operation == nullptr || !operation->isAdditiveOp() || !index->getType()->isSignedIntegerType() ||
        !operation->getType()->isSignedIntegerType())
        return std::nullopt;
    const bool minus = operation->getOpcode() == BO_Sub;
    if (variable(operation->getLHS()) == index)
        if (const auto number = constant(operation->getRHS())) return minus ? -*number : *number;
    if (!minus && variable(operation->getRHS()) == index) return constant(operation->getLHS());
    return std::nullopt;
}

std::optional<std::uint64_t> OwnLoops::block_of_rows(const VarDecl* array) const {
    const QualType declared = array->getType();
    const bool points = Types::points_to_shared(declared);
    if (!points && (!Types::is_shared(declared) || !declared->isArrayType() || !array->hasGlobalStorage()))
        return std::nullopt;
    const QualType type = points ? Types::pointee(declared) : declared;
    if (types_.element(type)->isVoidType() || types_.element(type)->isIncompleteType()) return std::nullopt;
    const auto row = types_.elements(points ? type : context_.getAsArrayType(type)->getElementType());
    const Layout layout = types_.layout(type);
    std::uint64_t block = layout.block;
    if (layout.kind == Layout::Kind::even && !points) {
        const auto each = types_.even_block(type);
        if (!each) return std::nullopt;
        block = *each;
    } else if (layout.kind != Layout::Kind::blocks) {
        return std::nullopt;
    }
    if (!row || *row == 0 || block == 0 || block % *row != 0) return std::nullopt;
    return block / *row;
}

const VarDecl* OwnLoops::steady_rows(const Expr* base, const OwnLoop& loop) const {
    const auto* const cast = dyn_cast<ImplicitCastExpr>(base->IgnoreParens());
    const auto* const name = cast == nullptr ? nullptr : dyn_cast<DeclRefExpr>(cast->getSubExpr()->IgnoreParens());
    const auto* const one = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
    if (one == nullptr) return nullptr;
    const QualType type = one->getType();
    if (cast->getCastKind() == CK_ArrayToPointerDecay)
        return types_.element(type).isVolatileQualified() ? nullptr : one;
    const bool steady = loop.unsteady.count(one) == 0 && (one->hasLocalStorage() || loop.globals_are_steady);
    if (cast->getCastKind() != CK_LValueToRValue || Types::is_shared(type) || !Types::points_to_shared(type) || !steady)
        return nullptr;
    return type.isVolatileQualified() || types_.element(Types::pointee(type)).isVolatileQualified() ? nullptr : one;
}

const VarDecl* OwnLoops::own_row(const ArraySubscriptExpr* subscript, const OwnLoop& loop) const {
    const VarDecl* const array = steady_rows(subscript->getBase(), loop);
    if (array == nullptr) return nullptr;
    const auto block = block_of_rows(array);
    return block == loop.block && shift(subscript->getIdx(), loop.index) == loop.shift ? array : nullptr;
}

/// `&a[i + c]`, also of a member or an element of it, `a + i + c`, and `i + c`.
bool OwnLoops::find_affinity(const Expr* affinity, OwnLoop& loop) const {
    affinity = affinity->IgnoreParenImpCasts();
    if (Types::points_to_shared(affinity->getType())) affinity = affinity->IgnoreParenCasts();
    if (affinity->getType()->isIntegerType()) {
        const auto by = shift(affinity, loop.index);
        loop.shift = by.value_or(0);
        return by.has_value();
    }
    const auto take = [&](const Expr* base, const Expr* index) {
        const VarDecl* const array = steady_rows(base, loop);
        const auto block = array == nullptr ? std::nullopt : block_of_rows(array);
        const auto by = shift(index, loop.index);
        if (!block || !by) return false;
        loop.block = *block;
        loop.shift = *by;
        if (array->getType()->isPointerType()) loop.pointer = array;
        return true;
    };
    if (const auto* const sum = dyn_cast<BinaryOperator>(affinity))
        return sum->getOpcode() == BO_Add && sum->getLHS()->getType()->isPointerType() &&
               take(sum->getLHS(), sum->getRHS());
    const auto* const address = dyn_cast<UnaryOperator>(affinity);
    const bool taken = address != nullptr && address->getOpcode() == UO_AddrOf;
    const Expr* place = taken ? address->getSubExpr() : affinity;
    // A row is where it begins; an element that is a pointer may point anywhere.
    if (!taken && !place->getType()->isArrayType()) return false;
    for (place = place->IgnoreParenImpCasts();;) {
        if (const auto* const member = dyn_cast<MemberExpr>(place); member != nullptr && !member->isArrow()) {
            place = member->getBase()->IgnoreParenImpCasts();
            continue;
        }
        const auto* const subscript = dyn_cast<ArraySubscriptExpr>(place);
        if (subscript == nullptr || subscript->getIdx()->HasSideEffects(context_)) return false;
        const Expr* const base = subscript->getBase()->IgnoreParenImpCasts();
        if (isa<DeclRefExpr>(base)) return take(subscript->getBase(), subscript->getIdx());
        if (!base->getType()->isArrayType()) return false;
        place = base;
    }
}

std::optional<OwnLoop> OwnLoops::find(const ForStmt* loop, const FunctionDecl* function, std::string& reason) const {
    const auto no = [&](const char* text) {
        reason = text;
        return std::nullopt;
    };
    OwnLoop found;
    found.index = counted_up(forall_step(loop));
    if (found.index == nullptr) return no("its step is not one of i++, ++i and i += 1");
    Changes in_body;
    Changes in_function;
    in_body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    in_function.TraverseStmt(function->getBody());
    if (!is_index(found.index, in_body, in_function))
        return no("its index is not a local integer of at least the size of an int that the body leaves alone");
    const auto* const test = dyn_cast_or_null<BinaryOperator>(loop->getCond());
    if (test == nullptr || (test->getOpcode() != BO_LT && test->getOpcode() != BO_LE) ||
        variable(test->getLHS()) != found.index)
        return no("its condition is not one of i < n and i <= n");
    found.end = test->getRHS();
    found.inclusive = test->getOpcode() == BO_LE;
    if (!Steady{in_body, in_function}.number(found.end))
        return no("its bound is not made of constants and of variables that the body leaves alone");
    found.unsteady = in_body.changed;
    found.unsteady.insert(in_body.declared.begin(), in_body.declared.end());
    found.unsteady.insert(in_function.addressed.begin(), in_function.addressed.end());
    found.globals_are_steady = !in_body.calls && !in_body.stores_pointers;
    if (!find_affinity(forall_affinity(loop), found))
        return no(
            "its affinity is not one of &a[i + c], a + i + c and i + c, with an array, or a steady pointer, a of whose "
            "rows blocks are with one thread");
    if (const auto* const start = dyn_cast_or_null<DeclStmt>(loop->getInit());
        start != nullptr && (!start->isSingleDecl() || start->getSingleDecl() != found.index))
        return no("it declares more than its index");
    Body body;
    body.TraverseStmt(const_cast<Stmt*>(loop->getBody()));
    if (!body.reason.empty()) return no(body.reason.c_str());
    return found;
}

} // namespace upcc
