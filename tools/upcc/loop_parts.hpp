#pragma once

#include "clang.hpp"

#include <set>

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

/// The variables that a statement may change, or whose address it takes.
class Changes : public clang::RecursiveASTVisitor<Changes> {
public:
    std::set<const clang::VarDecl*> changed;
    std::set<const clang::VarDecl*> addressed;
    std::set<const clang::VarDecl*> declared;
    bool calls = false;           ///< something that may change variables of the program
    bool stores_pointers = false; ///< somewhere, pointers-to-shared or whole structures

    bool VisitVarDecl(clang::VarDecl* one) {
        declared.insert(one);
        return true;
    }
    bool VisitCallExpr(clang::CallExpr*) { return calls = true; }
    bool VisitBinaryOperator(clang::BinaryOperator* operation) {
        const clang::QualType type = operation->getLHS()->getType();
        if (operation->isAssignmentOp()) add(operation->getLHS(), changed);
        stores_pointers =
            stores_pointers || (operation->isAssignmentOp() && (type->isPointerType() || type->isRecordType()));
        return true;
    }
    bool VisitUnaryOperator(clang::UnaryOperator* operation) {
        if (operation->isIncrementDecrementOp()) add(operation->getSubExpr(), changed);
        if (operation->getOpcode() == clang::UO_AddrOf) add(operation->getSubExpr(), addressed);
        return true;
    }

private:
    static void add(const clang::Expr* expression, std::set<const clang::VarDecl*>& to) {
        if (const clang::VarDecl* const one = variable(expression)) to.insert(one);
    }
};

/// Integers of constants and of local variables that do not change.
class Bound {
public:
    Bound(const Changes& in_loop, const Changes& in_function) : in_loop_{in_loop}, in_function_{in_function} {}
    [[nodiscard]] bool stays(const clang::Expr* expression) const {
        expression = expression->IgnoreParenImpCasts();
        if (!expression->getType()->isIntegerType()) return false;
        if (llvm::isa<clang::IntegerLiteral, clang::CharacterLiteral>(expression)) return true;
        if (const auto* const name = llvm::dyn_cast<clang::DeclRefExpr>(expression)) {
            if (llvm::isa<clang::EnumConstantDecl>(name->getDecl()) || name->getDecl()->getName() == "MYTHREAD")
                return true;
            const auto* const one = llvm::dyn_cast<clang::VarDecl>(name->getDecl());
            return one != nullptr && one->hasLocalStorage() && !one->getType().isVolatileQualified() &&
                   in_loop_.changed.count(one) == 0 && in_function_.addressed.count(one) == 0;
        }
        if (const auto* const operation = llvm::dyn_cast<clang::BinaryOperator>(expression))
            return (operation->isAdditiveOp() || operation->isMultiplicativeOp() || operation->isShiftOp()) &&
                   stays(operation->getLHS()) && stays(operation->getRHS());
        if (const auto* const cast = llvm::dyn_cast<clang::CStyleCastExpr>(expression))
            return stays(cast->getSubExpr());
        return false;
    }

private:
    const Changes& in_loop_;
    const Changes& in_function_;
};

/// i of `i++`, `++i` and `i += 1`.
[[nodiscard]] inline const clang::VarDecl* counted_up(const clang::Expr* step) {
    if (step == nullptr) return nullptr;
    step = step->IgnoreParens();
    if (const auto* const one = llvm::dyn_cast<clang::UnaryOperator>(step))
        return one->isIncrementOp() ? variable(one->getSubExpr()) : nullptr;
    const auto* const add = llvm::dyn_cast<clang::BinaryOperator>(step);
    if (add == nullptr || add->getOpcode() != clang::BO_AddAssign) return nullptr;
    const auto* const by = llvm::dyn_cast<clang::IntegerLiteral>(add->getRHS()->IgnoreParenImpCasts());
    return by != nullptr && by->getValue() == 1 ? variable(add->getLHS()) : nullptr;
}

[[nodiscard]] inline bool is_index(const clang::VarDecl* index, const Changes& in_body, const Changes& in_function) {
    if (index == nullptr || !index->hasLocalStorage() || index->getType().isVolatileQualified()) return false;
    const auto* const type = index->getType()->getAs<clang::BuiltinType>();
    if (type == nullptr) return false;
    switch (type->getKind()) {
    case clang::BuiltinType::Int:
    case clang::BuiltinType::UInt:
    case clang::BuiltinType::Long:
    case clang::BuiltinType::ULong:
    case clang::BuiltinType::LongLong:
    case clang::BuiltinType::ULongLong: break;
    default: return false;
    }
    return in_body.changed.count(index) == 0 && in_function.addressed.count(index) == 0;
}

} // namespace upcc
