#pragma once

#include "clang.hpp"
#include "prepass.hpp"
#include "report.hpp"
#include "types.hpp"

#include <string>

namespace upcc {

/// Finds what UPC forbids and C with address spaces allows.
void check(clang::ASTContext& context, const Prepared& prepared, Types& types, Report& report, int threads);
/// Finds functions that are converted to pointers-to-shared, in a program that is parsed without address spaces.
void check_functions(clang::ASTContext& context, const Prepared& prepared, Report& report);

/// What the checks share.
class Checks {
public:
    Checks(clang::ASTContext& context, const Prepared& prepared, Types& types, Report& report, int threads)
        : context_{context}, prepared_{prepared}, types_{types}, report_{report}, threads_{threads} {}

    // check_declarations.cpp
    void layouts();
    void variable(const clang::VarDecl* variable);
    void again(const clang::VarDecl* variable, clang::QualType before);
    void type_definition(const clang::TypedefDecl* definition);
    /// Of private arrays in a type at file scope: constants.
    void sizes(clang::TypeLoc type);
    void type(clang::TypeLoc type, bool of_object = false);
    void dimension(clang::ArrayTypeLoc array);
    /// The dimension that names THREADS.
    void factor(clang::ArrayTypeLoc array);
    /// A name that a typedef at file scope gives to a type, where no shared array is declared.
    void private_rows(clang::TypedefTypeLoc type);
    void qualifiers(clang::QualType type, clang::SourceLocation location);
    void name(const clang::NamedDecl* declaration);
    void function(const clang::FunctionDecl* function);
    void member(const clang::FieldDecl* member);
    /// An expression that must be constant in C.
    void constant(const clang::Expr* expression, const std::string& what);

    // check_conversions.cpp
    /// `from` is converted to type `to`, without a cast.
    void conversion(clang::QualType to, const clang::Expr* from, const std::string& what);
    void conversions(clang::QualType to, const clang::InitListExpr* list, const std::string& what);
    void cast(const clang::CStyleCastExpr* cast);
    void operation(const clang::BinaryOperator* operation);
    void operation(const clang::UnaryOperator* operation);
    void subscript(const clang::ArraySubscriptExpr* subscript);
    void call(const clang::CallExpr* call);
    void choice(const clang::AbstractConditionalOperator* choice);
    void size(const clang::UnaryExprOrTypeTraitExpr* size);
    void literal(const clang::CompoundLiteralExpr* literal);

    // check_statements.cpp
    void forall(const clang::ForStmt* loop);
    void jumps(const clang::FunctionDecl* function);
    void assembler(const clang::GCCAsmStmt* code);
    void barriers(const clang::FunctionDecl* function);

private:
    [[nodiscard]] std::size_t offset(clang::SourceLocation location) const;
    void error(clang::SourceLocation location, const std::string& text) { report_.error(offset(location), text); }
    /// 0 if THREADS is a constant.
    [[nodiscard]] int times_threads_named(const clang::Stmt* expression) const;
    [[nodiscard]] bool names_threads(const clang::Stmt* expression) const {
        return times_threads_named(expression) > 0;
    }
    [[nodiscard]] bool multiplies_threads(const clang::Expr* size) const;
    [[nodiscard]] bool measures_threads(const clang::Expr* expression) const;
    /// Block sizes as programs write them.
    [[nodiscard]] static std::string layout_text(const Layout& layout);
    [[nodiscard]] bool same_layout(clang::QualType a, clang::QualType b) const;
    [[nodiscard]] static const clang::ParmVarDecl* written_parameter(const clang::FunctionDecl* function, unsigned k);
    [[nodiscard]] bool alike(clang::QualType a, clang::QualType b) const;
    [[nodiscard]] bool differ_in_shared(clang::QualType a, clang::QualType b) const;
    void dimensions(const clang::VarDecl* variable);
    [[nodiscard]] int multiples(clang::QualType type) const;
    [[nodiscard]] bool is_null(const clang::Expr* expression) const;
    [[nodiscard]] bool points_to_shared_void(clang::QualType type) const;

    clang::ASTContext& context_;
    const Prepared& prepared_;
    Types& types_;
    Report& report_;
    int threads_;
};

} // namespace upcc
