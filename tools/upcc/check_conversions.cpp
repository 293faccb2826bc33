// Constraints of section 6.4: casts, assignments, comparisons and differences of pointers, and the size
// operators.
#include "checks.hpp"
#include "messages.hpp"
#include "nested_functions.hpp"

using namespace clang;

namespace upcc {

namespace {

/// For private pointers.
[[nodiscard]] bool is_pointer_to_pointer(QualType type) {
    return !type.isNull() && type->isPointerType() && !Types::points_to_shared(type) &&
           Types::pointee(type)->isPointerType();
}

/// Of functions and pointers to them; else null.
[[nodiscard]] const FunctionProtoType* function_type(QualType type) {
    if (type->isPointerType()) type = Types::pointee(type);
    return type->getAs<FunctionProtoType>();
}

} // namespace

/// Whether functions differ in what is shared: an argument or a result would be taken for something else.
bool Checks::differ_in_shared(QualType a, QualType b) const {
    const FunctionProtoType* const one = function_type(a);
    const FunctionProtoType* const other = function_type(b);
    if (one == nullptr || other == nullptr || one->getNumParams() != other->getNumParams()) return false;
    const auto differ = [&](QualType x, QualType y) {
        if (Types::points_to_shared(x) != Types::points_to_shared(y)) return true;
        return Types::points_to_shared(x) && !same_layout(Types::pointee(x), Types::pointee(y)) &&
               !types_.element(Types::pointee(x))->isVoidType() && !types_.element(Types::pointee(y))->isVoidType();
    };
    bool found = differ(one->getReturnType(), other->getReturnType());
    for (unsigned k = 0; k < one->getNumParams(); ++k)
        found = found || differ(one->getParamType(k), other->getParamType(k));
    return found;
}

/// Of each value in a list to the type of what it initialises.
void Checks::conversions(QualType to, const InitListExpr* list, const std::string& what) {
    const InitListExpr* const whole = list->isSemanticForm() ? list : list->getSemanticForm();
    const RecordDecl* const record = to->getAsRecordDecl();
    if (whole == nullptr) return;
    if (record != nullptr && record->isUnion()) {
        if (const FieldDecl* const field = whole->getInitializedFieldInUnion();
            field != nullptr && whole->getNumInits() > 0)
            conversion(field->getType(), whole->getInit(0), what);
    } else if (record != nullptr) {
        unsigned k = 0;
        for (const FieldDecl* const field : record->fields()) {
            // Bits without a name have no value.
            if (field->isBitField() && field->getIdentifier() == nullptr) continue;
            if (k >= whole->getNumInits()) break;
            conversion(field->getType(), whole->getInit(k++), what);
        }
    } else if (to->isArrayType()) {
        for (unsigned k = 0; k < whole->getNumInits(); ++k)
            conversion(context_.getAsArrayType(to)->getElementType(), whole->getInit(k), what);
    }
}

namespace {

constexpr const char* null_alone = ": of numbers, only the null pointer constant converts into one";

} // namespace

void Checks::conversion(QualType to, const Expr* from, const std::string& what) {
    if (from->containsErrors()) return;
    from = from->IgnoreParenImpCasts();
    if (const auto* const list = dyn_cast<InitListExpr>(from)) return conversions(to, list, what);
    if (const auto* const choice = dyn_cast<ConditionalOperator>(from);
        choice != nullptr && !choice->getType()->isArithmeticType()) {
        conversion(to, choice->getTrueExpr(), what);
        conversion(to, choice->getFalseExpr(), what);
        return;
    }
    if (isa<ImplicitValueInitExpr, StmtExpr, BinaryConditionalOperator>(from) || is_null(from)) return;
    QualType source = from->getType();
    if (differ_in_shared(to, source))
        return error(from->getExprLoc(), what + " between functions that differ in what is shared takes a cast: '" +
                                             types_.in_upc(source) + "' and '" + types_.in_upc(to) + "'");
    // Below pointers to pointers, whose types are compatible only if their block sizes are the same.
    while (is_pointer_to_pointer(to) && is_pointer_to_pointer(source)) {
        to = Types::pointee(to);
        source = Types::pointee(source);
    }
    if (!Types::points_to_shared(to)) {
        const bool shares = source->isArrayType() ? Types::is_shared(source) : Types::points_to_shared(source);
        if (shares && to->isIntegerType() && !to->isBooleanType())
            error(from->getExprLoc(), what + " a pointer-to-shared to a number takes a cast");
        return;
    }
    if (source->isArrayType() && Types::is_shared(source))
        source = context_.getPointerType(context_.getAsArrayType(source)->getElementType());
    if (!Types::points_to_shared(source)) {
        if (source->isIntegerType()) error(from->getExprLoc(), what + " a number to a pointer-to-shared" + null_alone);
        return;
    }
    const QualType a = Types::pointee(to);
    const QualType b = Types::pointee(source);
    if (types_.element(a)->isVoidType() || types_.element(b)->isVoidType()) return;
    if (!same_layout(a, b))
        error(from->getExprLoc(), what + " between pointers-to-shared of block sizes " + layout_text(types_.layout(b)) +
                                      " and " + layout_text(types_.layout(a)) + " takes a cast");
    else if (!alike(a, b))
        error(from->getExprLoc(), what + " between pointers-to-shared of different types takes a cast: '" +
                                      types_.in_upc(source) + "' and '" + types_.in_upc(to) + "'");
}

/// Whether pointers to them convert into each other in C, apart from sign and qualifiers, of which compilers warn.
bool Checks::alike(QualType a, QualType b) const {
    a = types_.without_shared(a);
    b = types_.without_shared(b);
    if (context_.typesAreCompatible(a.getUnqualifiedType(), b.getUnqualifiedType())) return true;
    const auto number = [](QualType type) {
        return type->isIntegerType() && !type->isBooleanType() && !type->isEnumeralType();
    };
    return number(a) && number(b) &&
           context_.hasSameUnqualifiedType(context_.getCorrespondingUnsignedType(a.getCanonicalType()),
                                           context_.getCorrespondingUnsignedType(b.getCanonicalType()));
}

void Checks::cast(const CStyleCastExpr* cast) {
    const QualType to = cast->getType();
    const Expr* const inner = cast->getSubExpr();
    if (cast->getTypeInfoAsWritten() != nullptr) type(cast->getTypeInfoAsWritten()->getTypeLoc());
    if (Types::is_shared(cast->getTypeAsWritten()) && !cast->getTypeAsWritten()->isPointerType())
        error(cast->getExprLoc(),
              "a value has no shared type; cast to the type without shared, or to a pointer-to-shared");
    if (is_null(inner->IgnoreImpCasts())) return;
    // Component by component, through pointers to pointers.
    const auto pointed = [&](QualType type) {
        if (type->isPointerType()) return Types::pointee(type);
        return type->isArrayType() ? context_.getAsArrayType(type)->getElementType() : QualType{};
    };
    const QualType from = inner->getType();
    if (Types::points_to_shared(to) && from->isIntegerType())
        return error(cast->getExprLoc(),
                     "casting '" + types_.in_upc(from) + "' to '" + types_.in_upc(to) + "'" + null_alone);
    for (QualType a = pointed(to), b = pointed(from); !a.isNull() && !b.isNull(); a = pointed(a), b = pointed(b))
        if (Types::is_shared(a) && !Types::is_shared(b))
            return error(cast->getExprLoc(), "a pointer-to-private cannot be cast to a pointer-to-shared: '" +
                                                 types_.in_upc(from) + "' to '" + types_.in_upc(to) + "'");
}

bool Checks::points_to_shared_void(QualType type) const {
    return Types::points_to_shared(type) && Types::pointee(type)->isVoidType();
}

namespace {

constexpr const char* no_arithmetic =
    "there is no arithmetic on a pointer to shared void; cast it to the type of the elements";

} // namespace

void Checks::operation(const UnaryOperator* operation) {
    if (const auto* const name = dyn_cast<DeclRefExpr>(operation->getSubExpr()->IgnoreParens());
        name != nullptr && operation->getOpcode() == UO_AddrOf && name->getDecl()->getName() == "MYTHREAD")
        error(operation->getOperatorLoc(), "MYTHREAD is an expression, and has no address");
    if (!points_to_shared_void(operation->getSubExpr()->getType())) return;
    if (operation->isIncrementDecrementOp()) error(operation->getOperatorLoc(), no_arithmetic);
    if (operation->getOpcode() == UO_Deref)
        error(operation->getOperatorLoc(), "a pointer to shared void points to no object; cast it to a type of one");
}

void Checks::subscript(const ArraySubscriptExpr* subscript) {
    if (points_to_shared_void(subscript->getBase()->getType())) error(subscript->getExprLoc(), no_arithmetic);
}

namespace {

[[nodiscard]] bool is_pointer(const Expr* expression) {
    const QualType type = expression->IgnoreParenImpCasts()->getType();
    return type->isPointerType() || type->isArrayType() || type->isFunctionType();
}
[[nodiscard]] bool to_shared(const Expr* expression) {
    const QualType type = expression->IgnoreParenImpCasts()->getType();
    return type->isArrayType() ? Types::is_shared(type) : Types::points_to_shared(type);
}

} // namespace

void Checks::operation(const BinaryOperator* operation) {
    const Expr* const left = operation->getLHS();
    const Expr* const right = operation->getRHS();
    const bool left_points = Types::points_to_shared(left->getType());
    const bool right_points = Types::points_to_shared(right->getType());
    if (operation->getOpcode() == BO_Assign) return conversion(left->getType(), right, "assigning");
    // As written: Clang converts one into the other.
    if (operation->isComparisonOp() && is_pointer(left) && is_pointer(right) && to_shared(left) != to_shared(right) &&
        !is_null(left->IgnoreParenImpCasts()) && !is_null(right->IgnoreParenImpCasts()))
        return error(operation->getOperatorLoc(), "a pointer-to-shared and a pointer-to-private cannot be compared");
    if (!left_points && !right_points) return;
    const bool arithmetic =
        operation->isAdditiveOp() || operation->getOpcode() == BO_AddAssign || operation->getOpcode() == BO_SubAssign;
    const bool compares = operation->isComparisonOp();
    if (arithmetic && (points_to_shared_void(left->getType()) || points_to_shared_void(right->getType())))
        return error(operation->getOperatorLoc(), no_arithmetic);
    if (!compares && operation->getOpcode() != BO_Sub) return;
    const Expr* const a = left->IgnoreParenImpCasts();
    const Expr* const b = right->IgnoreParenImpCasts();
    if (compares && (a->getType()->isIntegerType() || b->getType()->isIntegerType()) && !is_null(a) && !is_null(b))
        return error(operation->getOperatorLoc(), "a pointer-to-shared and a number cannot be compared");
    if (left_points != right_points) {
        if (compares && left->getType()->isPointerType() && right->getType()->isPointerType() && !is_null(a) &&
            !is_null(b))
            error(operation->getOperatorLoc(), "a pointer-to-shared and a pointer-to-private cannot be compared");
        return;
    }
    QualType from_a = a->getType();
    QualType from_b = b->getType();
    if (from_a->isArrayType()) from_a = left->getType();
    if (from_b->isArrayType()) from_b = right->getType();
    if (is_null(a) || is_null(b) || !Types::points_to_shared(from_a) || !Types::points_to_shared(from_b)) {
        if ((a->getType()->isPointerType() && !Types::points_to_shared(from_a) && !is_null(a)) ||
            (b->getType()->isPointerType() && !Types::points_to_shared(from_b) && !is_null(b)))
            error(operation->getOperatorLoc(), "a pointer-to-shared and a pointer-to-private cannot be compared");
        return;
    }
    if (isa<ConditionalOperator, BinaryConditionalOperator, StmtExpr>(a) ||
        isa<ConditionalOperator, BinaryConditionalOperator, StmtExpr>(b))
        return;
    const QualType pointee_a = Types::pointee(from_a);
    const QualType pointee_b = Types::pointee(from_b);
    if (types_.element(pointee_a)->isVoidType() || types_.element(pointee_b)->isVoidType()) {
        if (operation->isRelationalOp())
            error(operation->getOperatorLoc(),
                  "pointers to shared void have no order; cast them to the type of the elements");
        return;
    }
    const std::string both = "'" + types_.in_upc(from_a) + "' and '" + types_.in_upc(from_b) + "'";
    const std::string what = operation->getOpcode() == BO_Sub ? "subtracted" : "compared";
    if (!alike(pointee_a, pointee_b))
        error(operation->getOperatorLoc(), "pointers-to-shared of different types cannot be " + what + ": " + both);
    else if (!same_layout(pointee_a, pointee_b))
        error(operation->getOperatorLoc(),
              "pointers-to-shared of different block sizes cannot be " + what + ": " + both);
}

/// `c ? p : q` and `p ?: q`
void Checks::choice(const AbstractConditionalOperator* choice) {
    const auto* const short_form = dyn_cast<BinaryConditionalOperator>(choice);
    const Expr* const one = (short_form != nullptr ? short_form->getCommon() : choice->getTrueExpr())->IgnoreParens();
    const Expr* const other = choice->getFalseExpr()->IgnoreParens();
    if (choice->getType()->isVoidType()) return;
    if (to_shared(one) != to_shared(other) && !is_null(one->IgnoreImpCasts()) && !is_null(other->IgnoreImpCasts())) {
        const Expr* const private_one = (to_shared(one) ? other : one)->IgnoreParenImpCasts();
        return error(choice->getQuestionLoc(), "a pointer-to-shared and '" + types_.in_upc(private_one->getType()) +
                                                   "' cannot both be results of a conditional operator");
    }
    // Clang's type for them is that of a pointer-to-private.
    if (to_shared(one) && to_shared(other) && !Types::points_to_shared(choice->getType()))
        return error(choice->getQuestionLoc(), "pointers-to-shared that differ in const or volatile take a cast of one "
                                               "of them, '" +
                                                   types_.in_upc(one->IgnoreParenImpCasts()->getType()) + "' or '" +
                                                   types_.in_upc(other->IgnoreParenImpCasts()->getType()) + "'");
    const auto pointee = [&](const Expr* value) {
        value = value->IgnoreParenImpCasts();
        const QualType type = value->getType();
        if (is_null(value)) return QualType{};
        if (type->isArrayType() && Types::is_shared(type)) return context_.getAsArrayType(type)->getElementType();
        return Types::points_to_shared(type) ? Types::pointee(type) : QualType{};
    };
    const QualType a = pointee(one), b = pointee(other);
    if (a.isNull() || b.isNull() || types_.element(a)->isVoidType() || types_.element(b)->isVoidType()) return;
    if (!same_layout(a, b))
        error(choice->getQuestionLoc(), "a value that is of block size " + layout_text(types_.layout(a)) + " or " +
                                            layout_text(types_.layout(b)) + " takes a cast of one of them");
}

void Checks::call(const CallExpr* call) {
    if (const FunctionDecl* const callee = call->getDirectCallee();
        callee != nullptr && callee->getName().starts_with("lapwing_upcc_") && callee->getName() != nested_marker &&
        call->getNumArgs() == 1) {
        const Expr* const name = call->getArg(0)->IgnoreParenImpCasts();
        const std::string statement = "upc_" + callee->getName().drop_front(13).drop_back(1).str();
        if (!name->getType()->isArithmeticType())
            error(name->getExprLoc(), "the expression of " + statement + " must be convertible to int, and is '" +
                                          types_.in_upc(name->getType()) + "'");
        return;
    }
    // Clang would accept them as functions of any address space.
    if (const FunctionDecl* const callee = call->getDirectCallee(); callee != nullptr && callee->getBuiltinID() != 0)
        for (unsigned k = 0; k < call->getNumArgs() && k < callee->getNumParams(); ++k)
            if (Types::points_to_shared(callee->getParamDecl(k)->getType()))
                return error(call->getArg(k)->getExprLoc(),
                             "'" + callee->getName().str() + "' takes pointers-to-private, and this is '" +
                                 types_.in_upc(call->getArg(k)->IgnoreImpCasts()->getType()) +
                                 "'; upc_memcpy, upc_memget, upc_memput and upc_memset are for shared objects");
    const auto* const pointer = call->getCallee()->getType()->getAs<PointerType>();
    const auto* const prototype = pointer == nullptr ? nullptr : pointer->getPointeeType()->getAs<FunctionProtoType>();
    if (prototype == nullptr) return;
    // The declaration's types have their layouts.
    const FunctionDecl* const callee = call->getDirectCallee();
    for (unsigned k = 0; k < call->getNumArgs() && k < prototype->getNumParams(); ++k) {
        const ParmVarDecl* const parameter = written_parameter(callee, k);
        conversion(parameter != nullptr ? parameter->getType() : prototype->getParamType(k), call->getArg(k),
                   "passing");
    }
}

void Checks::size(const UnaryExprOrTypeTraitExpr* size) {
    if (size->isArgumentType()) type(size->getArgumentTypeInfo()->getTypeLoc());
    const auto found = prepared_.size_operators.find(offset(size->getOperatorLoc()));
    if (found == prepared_.size_operators.end()) {
        // 1 for Clang and gcc, but an error for UPC compilers.
        if (const QualType t = size->getTypeOfArgument(); t->isVoidType() && size->getKind() == UETT_SizeOf)
            error(size->getOperatorLoc(), Types::is_shared(t) ? "'shared void' has no size" : "'void' has no size");
        return;
    }
    const std::string name = found->second.kind == SizeOperator::local   ? "upc_localsizeof"
                             : found->second.kind == SizeOperator::block ? "upc_blocksizeof"
                                                                         : "upc_elemsizeof";
    if (const QualType t = size->getTypeOfArgument(); Types::is_shared(t) && t->isVoidType())
        error(size->getOperatorLoc(), name + " needs a type that has objects, and this is 'shared void'");
    if (!Types::is_shared(size->getTypeOfArgument()))
        error(size->getOperatorLoc(), name + " is for shared objects and types, and this is '" +
                                          types_.in_upc(size->getTypeOfArgument()) + "'");
}

void Checks::literal(const CompoundLiteralExpr* literal) {
    if (Types::is_shared(literal->getType())) error(literal->getBeginLoc(), shared_literal);
}

} // namespace upcc
