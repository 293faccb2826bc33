// Constraints of sections 6.3 and 6.5 of the UPC language specification 1.3: types, layouts, what can be shared.
#include "checks.hpp"

using namespace clang;

namespace upcc {

namespace {

constexpr std::uint64_t largest_block = 0x7fffffff; // UPC_MAX_BLOCK_SIZE
constexpr const char* threads_twice = "THREADS occurs more than once in the dimensions of a shared array";
constexpr const char* threads_with_indefinite =
    "an array of block size [] belongs to one thread, and THREADS is not a constant here for its size; "
    "compile for a fixed number of threads (-T)";

} // namespace

/// The expressions in layout qualifiers, which are enumerators beside the program.
void Checks::layouts() {
    struct Values : RecursiveASTVisitor<Values> {
        std::vector<const EnumConstantDecl*> found;
        bool VisitEnumConstantDecl(EnumConstantDecl* value) {
            if (Types::layout_of_constant(value)) found.push_back(value);
            return true;
        }
    } values;
    values.TraverseDecl(context_.getTranslationUnitDecl());
    for (const EnumConstantDecl* const value : values.found) {
        if (value->isInvalidDecl() || value->getInitExpr() == nullptr || value->getInitExpr()->containsErrors())
            continue;
        const llvm::APSInt& block = value->getInitVal();
        const std::size_t source = prepared_.layouts[*Types::layout_of_constant(value)].source;
        const auto problem = [&](const std::string& text) { report_.add_at_source(Report::Kind::error, source, text); };
        // Clang would take constant objects and commas, too.
        if (!value->getInitExpr()->isIntegerConstantExpr(context_))
            problem("the block size of a shared type must be a constant integer expression");
        else if (names_threads(value->getInitExpr()))
            problem("THREADS is not a constant here, but a block size must be one; use [*], or compile for a fixed "
                    "number of threads (-T)");
        else if (block.isNegative())
            problem("the block size of a shared type cannot be negative: it is " + toString(block, 10));
        else if (block.getActiveBits() > 63 || block.getZExtValue() > largest_block)
            problem("the block size " + toString(block, 10) + " is larger than UPC_MAX_BLOCK_SIZE, " +
                    std::to_string(largest_block));
    }
}

/// Whether the size of a shared array, which depends on THREADS, is in the expression.
bool Checks::measures_threads(const Expr* expression) const {
    struct Finder : RecursiveASTVisitor<Finder> {
        const Types* types = nullptr;
        const Checks* checks = nullptr;
        bool found = false;
        bool VisitUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr* size) {
            const QualType t = size->getTypeOfArgument();
            const auto count = types->elements(t);
            const bool sizes = size->getKind() == UETT_SizeOf && Types::is_shared(t) && t->isArrayType();
            // Of UPC's operators, what one thread has.
            const auto& operators = checks->prepared_.size_operators;
            const auto kind = operators.find(checks->offset(size->getOperatorLoc()));
            if (kind != operators.end()) found = found || (Types::is_shared(t) && !types->size(kind->second.kind, t));
            else found = found || (sizes && count && checks->prepared_.times_threads(*count));
            return true;
        }
    } finder;
    if (threads_ != 0) return false;
    finder.types = &types_;
    finder.checks = this;
    finder.TraverseStmt(const_cast<Expr*>(expression));
    return finder.found;
}

void Checks::constant(const Expr* expression, const std::string& what) {
    if (expression->containsErrors()) return;
    if (names_threads(expression) || measures_threads(expression))
        error(expression->getExprLoc(), "THREADS is not a constant here, but " + what +
                                            " must be one; compile for a fixed number of threads (-T)");
}

/// For a type, or what a pointer points to.
void Checks::qualifiers(QualType type, SourceLocation location) {
    if (const std::string both = types_.conflict(type); !both.empty())
        error(location, "a type cannot be " + both + " at once");
    else if (!Types::is_shared(type) && types_.qualifier(type) != Qualifier::none)
        error(location, "strict and relaxed are only for shared types");
}

/// How often an array type has THREADS in its dimensions, as a factor. Any number of threads is a prime.
int Checks::multiples(QualType type) const {
    int found = 0;
    for (; type->isArrayType(); type = context_.getAsArrayType(type)->getElementType())
        if (const auto* const array = context_.getAsConstantArrayType(type))
            for (std::uint64_t count = array->getSize().getZExtValue(); prepared_.times_threads(count);
                 count /= prepared_.any_threads)
                ++found;
    return found;
}

/// Whether THREADS is alone, or multiplied by constants, also by a shift.
bool Checks::multiplies_threads(const Expr* size) const {
    size = size->IgnoreParenImpCasts();
    if (isa<DeclRefExpr>(size)) return true;
    const auto* const product = dyn_cast<BinaryOperator>(size);
    if (product == nullptr) return false;
    if (product->getOpcode() == BO_Shl) return multiplies_threads(product->getLHS());
    if (product->getOpcode() != BO_Mul) return false;
    return names_threads(product->getLHS()) ? multiplies_threads(product->getLHS())
                                            : multiplies_threads(product->getRHS());
}

void Checks::factor(ArrayTypeLoc array) {
    if (times_threads_named(array.getSizeExpr()) == 1 && !multiplies_threads(array.getSizeExpr()))
        error(array.getLBracketLoc(),
              "in the size of a shared array THREADS can only be alone, or multiplied by a constant");
}

/// One dimension of a type.
void Checks::dimension(ArrayTypeLoc array) {
    const QualType inner = context_.getAsArrayType(array.getType())->getElementType();
    const int named = times_threads_named(array.getSizeExpr());
    if (named == 0 || !Types::is_shared(array.getType())) return;
    if (types_.layout(array.getType()).is_indefinite()) error(array.getLBracketLoc(), threads_with_indefinite);
    else if (named > 1 || multiples(inner) > 0) error(array.getLBracketLoc(), threads_twice);
    else factor(array);
}

void Checks::private_rows(TypedefTypeLoc type) {
    if (threads_ != 0 || Types::is_shared(type.getType()) || multiples(type.getType()) == 0) return;
    error(type.getBeginLoc(), "THREADS is not a constant here, but '" + type.getType().getAsString() +
                                  "' has it in its size: only shared arrays can be of that type; write the size of a "
                                  "private one in a function itself, or compile for a fixed number of threads (-T)");
}

/// Layouts and qualifiers anywhere in a type, and dimensions but those of an object.
void Checks::type(TypeLoc type, bool of_object) {
    const QualType whole = type.getType();
    qualifiers(whole, type.getBeginLoc());
    for (TypeLoc here = type; !here.isNull(); here = here.getNextTypeLoc()) {
        if (const auto function = here.getAs<FunctionTypeLoc>()) {
            if (Types::is_shared(function.getReturnLoc().getType()))
                error(type.getBeginLoc(),
                      "a function cannot return a shared object; it can return a pointer-to-shared");
            return this->type(function.getReturnLoc(), false);
        }
        if (const auto array = here.getAs<ArrayTypeLoc>(); array && !of_object) dimension(array);
        const auto pointer = here.getAs<PointerTypeLoc>();
        if (!pointer) continue;
        of_object = false;
        const QualType to = pointer.getPointeeLoc().getType();
        qualifiers(to, type.getBeginLoc());
        if (!Types::is_shared(to)) continue;
        const Layout layout = types_.layout(to);
        if (layout.kind == Layout::Kind::even)
            error(here.getBeginLoc(),
                  "the block size [*] belongs to arrays; a pointer-to-shared needs a number, or []");
        if (types_.element(to)->isVoidType() && layout.number != layout_default && layout.kind != Layout::Kind::missing)
            error(here.getBeginLoc(), "'shared void*' points to anything shared, and has no block size");
    }
}

std::string Checks::layout_text(const Layout& layout) {
    if (layout.is_indefinite()) return "[]";
    const std::string block = std::to_string(layout.block);
    if (layout.kind != Layout::Kind::even) return "[" + block + "]";
    return layout.block == 0 ? "[*]" : "[*], here " + block + ",";
}

bool Checks::same_layout(QualType a, QualType b) const {
    const Layout one = types_.layout(a);
    const Layout other = types_.layout(b);
    const auto unknown = [](const Layout& layout) { return layout.kind == Layout::Kind::even && layout.block == 0; };
    if (unknown(one) || unknown(other)) return true;
    return one.is_indefinite() ? other.is_indefinite() : !other.is_indefinite() && one.block == other.block;
}

/// With any number of threads exactly one dimension of a shared array is a multiple of THREADS.
void Checks::dimensions(const VarDecl* variable) {
    const QualType t = variable->getType();
    if (!t->isArrayType()) return;
    if (const auto count = types_.elements(t); types_.layout(t).kind == Layout::Kind::even && count) {
        const std::uint64_t threads = prepared_.threads_of_parse();
        if (const std::uint64_t block = (*count + threads - 1) / threads; block > largest_block)
            error(variable->getLocation(), "the block size that [*] gives, " + std::to_string(block) +
                                               ", is larger than UPC_MAX_BLOCK_SIZE, " + std::to_string(largest_block));
    }
    if (threads_ != 0) return;
    int named = 0;
    ArrayTypeLoc of_threads;
    if (const TypeSourceInfo* const written = variable->getTypeSourceInfo())
        for (TypeLoc here = written->getTypeLoc(); !here.isNull(); here = here.getNextTypeLoc())
            if (const auto array = here.getAs<ArrayTypeLoc>(); array && names_threads(array.getSizeExpr())) {
                named += times_threads_named(array.getSizeExpr());
                of_threads = array;
            }
    const int found = multiples(t);
    if (types_.layout(t).is_indefinite()) {
        if (found > 0) error(variable->getLocation(), threads_with_indefinite);
    } else if (found > 1 || named > 1) error(variable->getLocation(), threads_twice);
    else if (found == 0 && !t->isIncompleteArrayType())
        error(variable->getLocation(), "with any number of threads, one dimension of a shared array must be a multiple "
                                       "of THREADS; or make its block size [], or compile for a fixed number (-T)");
    else if (named == 1) factor(of_threads);
}

void Checks::sizes(TypeLoc type) {
    for (; !type.isNull() && !type.getAs<FunctionTypeLoc>(); type = type.getNextTypeLoc())
        if (const auto array = type.getAs<ArrayTypeLoc>();
            array && array.getSizeExpr() != nullptr && !Types::is_shared(array.getType()))
            constant(array.getSizeExpr(), "the size of a private array with static storage");
}

void Checks::name(const NamedDecl* declaration) {
    const IdentifierInfo* const name = declaration->getIdentifier();
    if (name == nullptr || (!name->isStr("THREADS") && !name->isStr("MYTHREAD"))) return;
    error(declaration->getLocation(), name->getName().str() + " is a keyword of UPC, and cannot name anything else");
}

namespace {

/// As written: Clang merges the types of declarations of one object.
[[nodiscard]] QualType written_type(const DeclaratorDecl* declaration) {
    const TypeSourceInfo* const written = declaration->getTypeSourceInfo();
    return written == nullptr ? declaration->getType() : written->getType();
}

} // namespace

/// An object that has been declared before.
void Checks::again(const VarDecl* variable, QualType before) {
    QualType here = written_type(variable);
    std::string what = "has the block size ", verb = "is ";
    if (Types::points_to_shared(here) && Types::points_to_shared(before)) {
        here = Types::pointee(here);
        before = Types::pointee(before);
        what = "points to the block size ";
        verb = "points to what is ";
    } else if (!Types::is_shared(here)) {
        return;
    }
    const auto strictness = [&](QualType type) -> std::string {
        const Qualifier found = types_.qualifier(type);
        return found == Qualifier::none     ? "neither strict nor relaxed"
               : found == Qualifier::strict ? "strict"
                                            : "relaxed";
    };
    if (types_.qualifier(here) != types_.qualifier(before))
        error(variable->getLocation(), "'" + variable->getName().str() + "' " + verb + strictness(here) +
                                           " here, and " + strictness(before) + " in its previous declaration");
    else if (!same_layout(here, before))
        error(variable->getLocation(), "'" + variable->getName().str() + "' " + what +
                                           layout_text(types_.layout(here)) + " here, and " +
                                           layout_text(types_.layout(before)) + " in its previous declaration");
}

void Checks::type_definition(const TypedefDecl* definition) {
    type(definition->getTypeSourceInfo()->getTypeLoc());
    if (const QualType t = definition->getUnderlyingType();
        Types::is_shared(t) && types_.layout(t).kind == Layout::Kind::even)
        error(definition->getLocation(),
              "a typedef cannot have the block size [*], which each array computes for itself");
    const TypedefNameDecl* const before = definition->getPreviousDecl();
    if (before != nullptr && !types_.same_layouts(definition->getUnderlyingType(), before->getUnderlyingType()))
        error(definition->getLocation(),
              "'" + definition->getName().str() + "' is '" + types_.in_upc(definition->getUnderlyingType()) +
                  "' here, and '" + types_.in_upc(before->getUnderlyingType()) + "' in its previous definition");
}

void Checks::variable(const VarDecl* variable) {
    const QualType t = variable->getType();
    if (const TypeSourceInfo* const written = variable->getTypeSourceInfo())
        type(written->getTypeLoc(), Types::is_shared(t) && variable->hasGlobalStorage());
    if (isa<ParmVarDecl>(variable)) return;
    if (const VarDecl* const before = variable->getPreviousDecl()) again(variable, written_type(before));
    if (Types::is_shared(t)) {
        if (variable->getTLSKind() != VarDecl::TLS_None)
            error(variable->getLocation(), "a shared object is common to all threads, and cannot be __thread");
        if (variable->hasGlobalStorage()) dimensions(variable);
        if (variable->getInit() != nullptr && !types_.holds_pointer_to_shared(t))
            constant(variable->getInit(), "the initial value of a shared object");
        return;
    }
    if (variable->getInit() != nullptr) conversion(t, variable->getInit(), "initialising");
    if (threads_ != 0) return;
    // Private objects: an automatic array may have any size, others need a constant one.
    const bool initialised = variable->getInit() != nullptr && t->isArrayType();
    if (const TypeSourceInfo* const written = variable->getTypeSourceInfo();
        written != nullptr && (variable->hasGlobalStorage() || initialised))
        sizes(written->getTypeLoc());
    if (variable->hasGlobalStorage() && variable->getInit() != nullptr && !types_.holds_pointer_to_shared(t))
        constant(variable->getInit(), "the initial value of an object with static storage");
}

void Checks::member(const FieldDecl* member) {
    if (const TypeSourceInfo* const written = member->getTypeSourceInfo()) {
        type(written->getTypeLoc());
        for (TypeLoc here = written->getTypeLoc(); !here.isNull(); here = here.getNextTypeLoc())
            if (const auto array = here.getAs<ArrayTypeLoc>();
                array && array.getSizeExpr() != nullptr && !Types::is_shared(array.getType()))
                constant(array.getSizeExpr(), "the size of a member");
    }
    if (member->isBitField()) constant(member->getBitWidth(), "the width of a bit-field");
}

/// Clang makes up the parameters of `int f();` after a prototype, without their layouts.
const ParmVarDecl* Checks::written_parameter(const FunctionDecl* function, unsigned k) {
    for (; function != nullptr; function = function->getPreviousDecl())
        if (k < function->getNumParams() && function->getParamDecl(k)->getTypeSourceInfo() != nullptr)
            return function->getParamDecl(k);
    return nullptr;
}

void Checks::function(const FunctionDecl* function) {
    if (const TypeSourceInfo* const written = function->getTypeSourceInfo()) type(written->getTypeLoc());
    const FunctionDecl* const before = function->getPreviousDecl();
    if (before == nullptr) return;
    // As written: declarations' types are merged.
    const auto returned = [](const FunctionDecl* declaration) {
        const TypeSourceInfo* const written = declaration->getTypeSourceInfo();
        const auto type = written == nullptr ? FunctionTypeLoc{}
                                             : written->getTypeLoc().IgnoreParens().getAsAdjusted<FunctionTypeLoc>();
        return type.isNull() ? declaration->getReturnType() : type.getReturnLoc().getType();
    };
    if (const QualType here = returned(function), there = returned(before);
        Types::points_to_shared(here) && Types::points_to_shared(there) &&
        !same_layout(Types::pointee(here), Types::pointee(there)))
        error(function->getLocation(),
              "'" + function->getName().str() +
                  "' returns a pointer of a different block size than in the previous declaration");
    if (before->getNumParams() != function->getNumParams()) return;
    for (unsigned k = 0; k < function->getNumParams(); ++k) {
        const QualType here = function->getParamDecl(k)->getType();
        const ParmVarDecl* const earlier = written_parameter(before, k);
        if (earlier == nullptr || function->getParamDecl(k)->getTypeSourceInfo() == nullptr) continue;
        const QualType there = earlier->getType();
        if (Types::points_to_shared(here) && Types::points_to_shared(there) &&
            !same_layout(Types::pointee(here), Types::pointee(there)))
            error(function->getParamDecl(k)->getLocation(),
                  "the parameter has a different block size than in the previous declaration");
    }
}

} // namespace upcc
