#pragma once

#include "clang.hpp"

#include <optional>
#include <set>
#include <vector>

/// What the optimisations of loops ask of them.
namespace upcc {

[[nodiscard]] inline const clang::VarDecl* variable(const clang::Expr* expression) {
    const auto* const name = llvm::dyn_cast_or_null<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
    return name == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(name->getDecl());
}

/// A type that the program declares; the pre-pass declares block sizes as enumerators.
[[nodiscard]] inline bool declares_type(const clang::Decl* declaration) {
    const auto* const enumeration = llvm::dyn_cast<clang::EnumDecl>(declaration);
    const bool ours = enumeration != nullptr && enumeration->enumerator_begin() != enumeration->enumerator_end() &&
                      (*enumeration->enumerator_begin())->getName().starts_with("lapwing_");
    return llvm::isa<clang::TagDecl>(declaration) && !ours;
}

/// Whether only another thread can end the loop: it calls nothing, and stores to no memory and to no variable that its
/// condition reads, which is of memory; or, where that is a constant, an `if` in it.
[[nodiscard]] bool waits_for_others(const clang::ASTContext& context, const clang::Stmt* loop,
                                    const clang::Expr* condition);

/// A call to a function of numbers alone.
[[nodiscard]] bool is_arithmetic(const clang::CallExpr* call);

/// The variables that a statement may change, or whose address it takes.
class Changes : public clang::RecursiveASTVisitor<Changes> {
public:
    std::set<const clang::VarDecl*> changed;
    std::set<const clang::VarDecl*> addressed;
    std::set<const clang::VarDecl*> declared;
    std::vector<const clang::Expr*> stores; ///< the lvalues, private and shared
    bool calls = false;                     ///< something that may change variables of the program
    bool stores_pointers = false;           ///< somewhere, pointers or what may have them in it

    bool VisitVarDecl(clang::VarDecl* one) {
        declared.insert(one);
        return true;
    }
    bool VisitCallExpr(clang::CallExpr* call) {
        calls = calls || !is_arithmetic(call);
        return true;
    }
    bool VisitAsmStmt(clang::AsmStmt*) { return calls = true; }
    bool VisitBinaryOperator(clang::BinaryOperator* operation) {
        if (operation->isAssignmentOp()) add_store(operation->getLHS());
        return true;
    }
    bool VisitUnaryOperator(clang::UnaryOperator* operation) {
        if (operation->isIncrementDecrementOp()) add_store(operation->getSubExpr());
        if (operation->getOpcode() == clang::UO_AddrOf) add(operation->getSubExpr(), addressed);
        return true;
    }

private:
    static void add(const clang::Expr* expression, std::set<const clang::VarDecl*>& to) {
        if (const clang::VarDecl* const one = variable(expression)) to.insert(one);
    }
    void add_store(const clang::Expr* place);
};

/// Goes through what is evaluated: not the operands of sizeof and typeof.
template <class Visitor>
class EvaluatedVisitor : public clang::RecursiveASTVisitor<Visitor> {
public:
    bool TraverseUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr*) { return true; }
    bool TraverseTypeOfExprTypeLoc(clang::TypeOfExprTypeLoc) { return true; }
    bool TraverseChooseExpr(clang::ChooseExpr* choice) {
        return this->getDerived().TraverseStmt(choice->getChosenSubExpr());
    }
};

/// What every pass through a statement evaluates.
class Always : public EvaluatedVisitor<Always> {
public:
    std::set<const clang::Expr*> expressions;
    std::vector<const clang::Expr*> reads; ///< of shared memory; of members, the structure
    std::vector<const clang::ArraySubscriptExpr*> writes;

    /// What follows a jump, or a call, which may end the program, is evaluated only where that does not happen.
    bool TraverseCompoundStmt(clang::CompoundStmt* statements);
    bool TraverseIfStmt(clang::IfStmt* choice) { return TraverseStmt(choice->getCond()); }
    bool TraverseSwitchStmt(clang::SwitchStmt* choice) { return TraverseStmt(choice->getCond()); }
    bool TraverseConditionalOperator(clang::ConditionalOperator* choice) { return TraverseStmt(choice->getCond()); }
    bool TraverseBinaryConditionalOperator(clang::BinaryConditionalOperator*) { return true; }
    bool TraverseGenericSelectionExpr(clang::GenericSelectionExpr*) { return true; }
    bool TraverseBinaryOperator(clang::BinaryOperator* operation) {
        if (operation->isLogicalOp() || operation->getOpcode() == clang::BO_Comma)
            return TraverseStmt(operation->getLHS());
        return RecursiveASTVisitor::TraverseBinaryOperator(operation);
    }
    bool VisitExpr(clang::Expr* expression) {
        expressions.insert(expression);
        return true;
    }
    bool VisitBinaryOperator(clang::BinaryOperator* operation);
    bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast);
};

/// What keeps its value while a loop runs.
class Steady {
public:
    Steady(const Changes& in_loop, const Changes& in_function) : in_loop_{in_loop}, in_function_{in_function} {}

    /// An integer of constants, of local variables that do not change, and of memory that the loop does not store to.
    [[nodiscard]] bool number(const clang::Expr* expression) const { return is_known(expression, nullptr); }
    /// The same, of the loop's index too: it can be found before the iteration begins.
    [[nodiscard]] bool number_of(const clang::Expr* expression, const clang::VarDecl* index) const {
        return is_known(expression, index);
    }
    /// The index, and something added to it that stays.
    [[nodiscard]] bool follows(const clang::Expr* expression, const clang::VarDecl* index) const;
    /// A shared object that is the same one in all iterations.
    [[nodiscard]] bool place(const clang::Expr* expression) const;
    /// A pointer, or an array.
    [[nodiscard]] bool base(const clang::Expr* expression) const;

private:
    [[nodiscard]] bool is_known(const clang::Expr* expression, const clang::VarDecl* index) const;
    [[nodiscard]] bool is_known_variable(const clang::DeclRefExpr* name) const;
    [[nodiscard]] bool is_known_memory(const clang::Expr* place, const clang::VarDecl* index) const;
    [[nodiscard]] bool may_be_stored_to(const clang::Expr* place) const;

    const Changes& in_loop_;
    const Changes& in_function_;
};

/// The parts of an index.
struct Rounds {
    const clang::Expr* round;
    const clang::Expr* thread; ///< null: 0
};
/// Of `round * THREADS + thread`, with the factors and the terms in either order.
[[nodiscard]] std::optional<Rounds> rounds_of(const clang::Expr* index);

/// Whether it names a variable of the body, or one that has the name of such a variable.
[[nodiscard]] bool names_own(const clang::Expr* expression, const Changes& in_body);

/// i of `i++`, `++i` and `i += 1`.
[[nodiscard]] const clang::VarDecl* counted_up(const clang::Expr* step);
/// i of `i += THREADS`.
[[nodiscard]] const clang::VarDecl* counted_by_threads(const clang::Expr* step);

/// Whether it is a local integer of at least the size of an int that the body leaves alone.
[[nodiscard]] bool is_index(const clang::VarDecl* index, const Changes& in_body, const Changes& in_function);

} // namespace upcc
