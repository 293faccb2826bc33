#include "checks.hpp"

#include "forall.hpp"

#include <functional>
#include <set>
#include <utility>

using namespace clang;

namespace upcc {

std::size_t Checks::offset(SourceLocation location) const {
    const SourceManager& sources = context_.getSourceManager();
    return sources.getFileOffset(sources.getFileLoc(location));
}

bool Checks::is_null(const Expr* expression) const {
    return expression->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNotNull) != Expr::NPCK_NotNull;
}

int Checks::times_threads_named(const Stmt* expression) const {
    struct Finder : RecursiveASTVisitor<Finder> {
        const Checks* checks = nullptr;
        int found = 0;
        bool VisitDeclRefExpr(DeclRefExpr* reference) {
            if (reference->getDecl()->getName() == "THREADS") ++found;
            return true;
        }
        // The part of one thread may be the same with any number of them.
        bool TraverseUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr* size) {
            const auto& operators = checks->prepared_.size_operators;
            const auto kind = operators.find(checks->offset(size->getOperatorLoc()));
            const QualType of = size->getTypeOfArgument();
            if (kind != operators.end() && Types::is_shared(of) && checks->types_.size(kind->second.kind, of))
                return true;
            return RecursiveASTVisitor::TraverseUnaryExprOrTypeTraitExpr(size);
        }
    } finder;
    finder.checks = this;
    if (threads_ == 0 && expression != nullptr) finder.TraverseStmt(const_cast<Stmt*>(expression));
    return finder.found;
}

namespace {

/// Walks through the program, and passes each part to its checks.
class Walk : public RecursiveASTVisitor<Walk> {
public:
    explicit Walk(Checks& checks) : checks_{checks} {}

    // What Clang has found an error in has been reported.
    bool TraverseDecl(Decl* declaration) {
        return (declaration != nullptr && declaration->isInvalidDecl() && !isa<FunctionDecl>(declaration)) ||
               RecursiveASTVisitor::TraverseDecl(declaration);
    }
    bool TraverseStmt(Stmt* statement) {
        const auto* const expression = dyn_cast_or_null<Expr>(statement);
        return (expression != nullptr && expression->containsErrors()) || RecursiveASTVisitor::TraverseStmt(statement);
    }

    bool VisitVarDecl(VarDecl* variable) {
        checks_.variable(variable);
        return true;
    }
    bool VisitFieldDecl(FieldDecl* member) {
        checks_.member(member);
        return true;
    }
    bool VisitTypedefDecl(TypedefDecl* definition) {
        checks_.type_definition(definition);
        // One of arrays is for shared ones: other uses are refused.
        if (function_ == nullptr && !definition->getUnderlyingType()->isArrayType())
            checks_.sizes(definition->getTypeSourceInfo()->getTypeLoc());
        return true;
    }
    bool TraverseTypedefDecl(TypedefDecl* definition) {
        const bool of_arrays = function_ == nullptr && definition->getUnderlyingType()->isArrayType();
        for_shared_ += of_arrays ? 1 : 0;
        const bool go_on = RecursiveASTVisitor::TraverseTypedefDecl(definition);
        for_shared_ -= of_arrays ? 1 : 0;
        return go_on;
    }
    /// The pre-pass puts the type of a shared array's rows there.
    bool TraverseTypeOfTypeLoc(TypeOfTypeLoc type) {
        ++for_shared_;
        const bool go_on = RecursiveASTVisitor::TraverseTypeOfTypeLoc(type);
        --for_shared_;
        return go_on;
    }
    bool VisitTypedefTypeLoc(TypedefTypeLoc type) {
        if (for_shared_ == 0) checks_.private_rows(type);
        return true;
    }
    bool VisitFunctionDecl(FunctionDecl* function) {
        if (!function->isInvalidDecl()) checks_.function(function);
        if (!function->doesThisDeclarationHaveABody()) return true;
        checks_.jumps(function);
        checks_.barriers(function);
        return true;
    }
    bool TraverseFunctionDecl(FunctionDecl* function) {
        FunctionDecl* const outer = function_;
        function_ = function;
        const bool go_on = RecursiveASTVisitor::TraverseFunctionDecl(function);
        function_ = outer;
        return go_on;
    }
    bool VisitReturnStmt(ReturnStmt* statement) {
        if (statement->getRetValue() != nullptr && function_ != nullptr)
            checks_.conversion(function_->getReturnType(), statement->getRetValue(), "returning");
        return true;
    }
    bool VisitEnumConstantDecl(EnumConstantDecl* constant) {
        if (constant->getInitExpr() != nullptr && !constant->getName().starts_with("lapwing_") &&
            constant->getName() != "THREADS")
            checks_.constant(constant->getInitExpr(), "an enumeration constant");
        return true;
    }
    bool VisitCaseStmt(CaseStmt* label) {
        checks_.constant(label->getLHS(), "a case label");
        if (label->getRHS() != nullptr) checks_.constant(label->getRHS(), "a case label");
        return true;
    }
    bool VisitStaticAssertDecl(StaticAssertDecl* assertion) {
        checks_.constant(assertion->getAssertExpr(), "the expression of _Static_assert");
        return true;
    }
    bool VisitDesignatedInitExpr(DesignatedInitExpr* value) {
        for (unsigned k = 1; k < value->getNumSubExprs(); ++k)
            checks_.constant(value->getSubExpr(k), "an index in a list of initial values");
        return true;
    }
    bool VisitChooseExpr(ChooseExpr* choice) {
        checks_.constant(choice->getCond(), "the condition of __builtin_choose_expr");
        return true;
    }
    bool VisitDecl(Decl* declaration) {
        for (const auto* const alignment : declaration->specific_attrs<AlignedAttr>())
            if (alignment->isAlignmentExpr() && alignment->getAlignmentExpr() != nullptr)
                checks_.constant(alignment->getAlignmentExpr(), "an alignment");
        return true;
    }
    /// A structure that is defined inside an expression.
    bool VisitTagTypeLoc(TagTypeLoc type) {
        return !type.isDefinition() || !in_types_.insert(type.getDecl()).second || TraverseDecl(type.getDecl());
    }
    bool VisitForStmt(ForStmt* loop) {
        if (is_forall(loop)) checks_.forall(loop);
        return true;
    }
    bool VisitCStyleCastExpr(CStyleCastExpr* cast) {
        checks_.cast(cast);
        return true;
    }
    bool VisitBinaryOperator(BinaryOperator* operation) {
        checks_.operation(operation);
        return true;
    }
    bool VisitUnaryOperator(UnaryOperator* operation) {
        checks_.operation(operation);
        return true;
    }
    bool VisitArraySubscriptExpr(ArraySubscriptExpr* subscript) {
        checks_.subscript(subscript);
        return true;
    }
    bool VisitNamedDecl(NamedDecl* declaration) {
        checks_.name(declaration);
        return true;
    }
    bool VisitAbstractConditionalOperator(AbstractConditionalOperator* choice) {
        checks_.choice(choice);
        return true;
    }
    bool VisitGCCAsmStmt(GCCAsmStmt* code) {
        checks_.assembler(code);
        return true;
    }
    bool VisitCallExpr(CallExpr* call) {
        checks_.call(call);
        return true;
    }
    bool VisitCompoundLiteralExpr(CompoundLiteralExpr* literal) {
        checks_.literal(literal);
        return true;
    }
    bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr* size) {
        checks_.size(size);
        return true;
    }

private:
    Checks& checks_;
    FunctionDecl* function_ = nullptr;
    int for_shared_ = 0;                ///< in a type that may have THREADS in its size
    std::set<const TagDecl*> in_types_; ///< that have been walked through
};

/// Functions in the place of pointers-to-shared, which are private ones with a tag here.
class Functions : public RecursiveASTVisitor<Functions> {
public:
    using Error = std::function<void(const Expr*, const std::string&)>;
    Functions(const Types& types, Error error) : types_{types}, error_{std::move(error)} {}

    bool VisitImplicitCastExpr(ImplicitCastExpr* cast) {
        if (cast->getCastKind() != CK_BitCast || !cast->getType()->isPointerType()) return true;
        const auto* const decay = dyn_cast<ImplicitCastExpr>(cast->getSubExpr()->IgnoreParens());
        if (decay == nullptr || decay->getCastKind() != CK_FunctionToPointerDecay) return true;
        if (types_.layout(Types::pointee(cast->getType())).kind == Layout::Kind::missing) return true;
        const Expr* const function = decay->getSubExpr();
        error_(function,
               "a function, '" + types_.in_upc(function->getType()) + "', does not convert into a pointer-to-shared");
        return true;
    }

private:
    const Types& types_;
    Error error_;
};

} // namespace

void check_functions(ASTContext& context, const Prepared& prepared, Report& report) {
    const SourceManager& sources = context.getSourceManager();
    const Types types{context, prepared};
    Functions functions{types, [&](const Expr* at, const std::string& text) {
                            report.error(sources.getFileOffset(sources.getFileLoc(at->getBeginLoc())), text);
                        }};
    functions.TraverseDecl(context.getTranslationUnitDecl());
}

void check(ASTContext& context, const Prepared& prepared, Types& types, Report& report, int threads) {
    Checks checks{context, prepared, types, report, threads};
    checks.layouts();
    Walk walk{checks};
    const SourceManager& sources = context.getSourceManager();
    for (Decl* const one : context.getTranslationUnitDecl()->decls()) {
        if (one->isImplicit() || one->getBeginLoc().isInvalid()) continue;
        const std::size_t begin = sources.getFileOffset(sources.getFileLoc(one->getBeginLoc()));
        if (begin >= prepared.program_begin && begin < prepared.program_end) walk.TraverseDecl(one);
    }
}

} // namespace upcc
