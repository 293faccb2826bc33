#include "emit.hpp"

#include "clang_versions.hpp"

using namespace clang;

namespace upcc {

namespace {

constexpr const char* null_pointer = "((lapwing_upc_pointer){0, 0, 0})";

/// A shared object, or a part of a complex one, which has lost the address space.
[[nodiscard]] bool is_shared_place(const Expr* lvalue) {
    const auto* const part = dyn_cast<UnaryOperator>(lvalue->IgnoreParens());
    if (part != nullptr && (part->getOpcode() == UO_Real || part->getOpcode() == UO_Imag))
        return Types::is_shared(part->getSubExpr()->getType()) && part->getSubExpr()->isGLValue();
    return Types::is_shared(lvalue->getType());
}

/// A register variable or a member of one, whose address cannot be taken.
[[nodiscard]] bool is_in_register(const Expr* lvalue) {
    lvalue = lvalue->IgnoreParens();
    while (const auto* const member = dyn_cast<MemberExpr>(lvalue)) {
        if (member->isArrow()) return false;
        lvalue = member->getBase()->IgnoreParens();
    }
    const auto* const name = dyn_cast<DeclRefExpr>(lvalue);
    const auto* const variable = name != nullptr ? dyn_cast<VarDecl>(name->getDecl()) : nullptr;
    return variable != nullptr && variable->getStorageClass() == SC_Register;
}

} // namespace

bool Emitter::touches_shared(const Expr* expression) const {
    struct Finder : RecursiveASTVisitor<Finder> {
        const Types* types = nullptr;
        bool found = false;
        bool VisitExpr(Expr* inner) {
            found = found || types->mentions_shared(inner->getType());
            return !found;
        }
    } finder;
    finder.types = &types_;
    finder.TraverseStmt(const_cast<Expr*>(expression));
    return finder.found;
}

void Emitter::add_expression(const Expr* e, Pieces& pieces, bool as_condition) {
    if (e == nullptr || e->getBeginLoc().isInvalid()) return;
    pieces.push_back(
        {offset(e->getBeginLoc()), end_offset(e->getEndLoc()), as_condition ? condition(e) : expression(e)});
}

/// The text as written, with its parts translated.
std::string Emitter::plain(const Stmt* node) {
    Pieces pieces;
    const auto* const logical = dyn_cast<BinaryOperator>(node);
    const auto* const conditional = dyn_cast<ConditionalOperator>(node);
    for (const Stmt* const child : node->children()) {
        const auto* const part = dyn_cast_or_null<Expr>(child);
        if (part == nullptr) continue;
        // As it was written, a list has structures that are not marked as read.
        if (isa<InitListExpr, DesignatedInitExpr>(node) && part->isGLValue() && Types::is_shared(part->getType()) &&
            part->getType()->isRecordType()) {
            pieces.push_back({offset(part->getBeginLoc()), end_offset(part->getEndLoc()), get(part)});
            continue;
        }
        add_expression(part, pieces,
                       (logical != nullptr && logical->isLogicalOp()) ||
                           (conditional != nullptr && part == conditional->getCond()));
    }
    return splice(offset(node->getBeginLoc()), end_offset(node->getEndLoc()), pieces);
}

/// An expression that C compares with zero.
std::string Emitter::condition(const Expr* e) {
    return Types::points_to_shared(e->getType()) ? "(!lapwing_upc_null(" + expression(e) + "))" : expression(e);
}

std::string Emitter::implicit_cast(const ImplicitCastExpr* cast) {
    const Expr* const inner = cast->getSubExpr();
    const bool from_shared = Types::is_shared(inner->getType());
    // `p == NULL` and `c ? p : NULL`, if that is a private pointer.
    if (Types::points_to_shared(cast->getType()) && !Types::points_to_shared(inner->getType()) && !from_shared &&
        inner->getType()->isPointerType() &&
        inner->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNotNull) != Expr::NPCK_NotNull)
        return null_pointer;
    switch (cast->getCastKind()) {
    case CK_LValueToRValue:
        if (from_shared) return get(inner);
        break;
    case CK_ArrayToPointerDecay:
        if (from_shared) return place(inner);
        break;
    case CK_NullToPointer:
        if (Types::points_to_shared(cast->getType())) return null_pointer;
        break;
    case CK_PointerToBoolean:
        if (Types::points_to_shared(inner->getType())) return "(!lapwing_upc_null(" + expression(inner) + "))";
        break;
    case CK_PointerToIntegral:
        if (Types::points_to_shared(inner->getType()))
            return "((" + type(cast->getType()) + ")lapwing_upc_addrfield(" + expression(inner) + "))";
        break;
    default:
        if (Types::points_to_shared(cast->getType()) && Types::points_to_shared(inner->getType())) return convert(cast);
        break;
    }
    return expression(inner);
}

std::string Emitter::explicit_cast(const CStyleCastExpr* cast) {
    const Expr* const inner = cast->getSubExpr();
    const bool to = Types::points_to_shared(cast->getType());
    const bool from = Types::points_to_shared(inner->getType());
    const QualType type_written = cast->getTypeAsWritten();
    if (to && cast->getCastKind() == CK_NullToPointer) return null_pointer;
    if (to && from) return convert(cast);
    if (to) {
        if (inner->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNotNull) != Expr::NPCK_NotNull)
            return null_pointer;
        // A number: the result of a cast to an integer.
        return "((lapwing_upc_pointer){(lapwing_uint64)(" + expression(inner) + "), (lapwing_uint32)MYTHREAD, 0})";
    }
    if (from) {
        const QualType target = cast->getType();
        if (target->isVoidType()) return "((void)(" + expression(inner) + "))";
        if (target->isPointerType()) return "((" + type(target) + ")lapwing_upcc_private(" + expression(inner) + "))";
        if (target->isBooleanType()) return "(!lapwing_upc_null(" + expression(inner) + "))";
        return "((" + type(target) + ")lapwing_upc_addrfield(" + expression(inner) + "))";
    }
    if (types_.mentions_shared(type_written))
        return "((" + type(types_.without_shared(type_written)) + ")" + expression(inner) + ")";
    Pieces pieces;
    if (const TypeSourceInfo* const written = cast->getTypeInfoAsWritten()) type_pieces(written->getTypeLoc(), pieces);
    add_expression(inner, pieces);
    return splice(offset(cast->getBeginLoc()), end_offset(cast->getEndLoc()), pieces);
}

std::string Emitter::compound_assignment(const BinaryOperator* operation) {
    const Expr* const left = operation->getLHS();
    const std::string right = expression(operation->getRHS());
    const std::string sign =
        BinaryOperator::getOpcodeStr(BinaryOperator::getOpForCompoundAssignment(operation->getOpcode())).str();
    if (const std::string own = own_place(left); !own.empty() && !Types::points_to_shared(left->getType()))
        return "(" + own + " " + sign + "= (" + right + "))";
    const std::string value = value_type(left->getType());
    const bool strict = is_strict(left);
    if (const MemberExpr* const member = bit_field(left))
        return with_value(
            operation->getRHS()->getType(), right,
            bit_field_update(
                member, "", "lapwing_s." + member->getMemberDecl()->getName().str() + " " + sign + "= lapwing_v;", ""));
    const std::string at = "({ lapwing_upc_pointer lapwing_a = " + place(left) + "; ";
    const std::string old = load(value, "lapwing_a", strict);
    if (Types::points_to_shared(left->getType()))
        return at + store(value, "lapwing_a", plus(old, left, right, operation->getOpcode() == BO_SubAssign), strict) +
               "; })";
    return at + value + " lapwing_n = " + old + " " + sign + " (" + right + "); " +
           store(value, "lapwing_a", "lapwing_n", strict) + "; })";
}

std::string Emitter::binary(const BinaryOperator* operation) {
    const Expr* const left = operation->getLHS();
    const Expr* const right = operation->getRHS();
    const BinaryOperatorKind kind = operation->getOpcode();
    const bool left_points = Types::points_to_shared(left->getType());
    const bool right_points = Types::points_to_shared(right->getType());
    if (operation->isAssignmentOp() && is_shared_place(left))
        return kind == BO_Assign ? put(left, expression(right)) : compound_assignment(operation);
    if (left_points && (kind == BO_AddAssign || kind == BO_SubAssign)) {
        const bool down = kind == BO_SubAssign;
        if (const auto walking = walking_.find(upcc::variable(left)); walking != walking_.end())
            return "(" + walking->second + (down ? " -= " : " += ") + "(ptrdiff_t)(" + expression(right) + "))";
        if (is_in_register(left)) {
            const std::string name = expression(left);
            return "(" + name + " = " + plus(name, left, expression(right), down) + ")";
        }
        return "({ " + declare(left->getType(), "*lapwing_p") + " = &(" + expression(left) +
               "); *lapwing_p = " + plus("*lapwing_p", left, expression(right), down) + "; })";
    }
    if (kind == BO_Add && left_points) return plus(expression(left), left, expression(right));
    if (kind == BO_Add && right_points) return plus(expression(right), right, expression(left));
    if (kind == BO_Sub && left_points)
        return right_points ? minus(operation) : plus(expression(left), left, expression(right), true);
    if (operation->isEqualityOp() && (left_points || right_points))
        return std::string{kind == BO_NE ? "(!" : "("} + "lapwing_upc_same(" + expression(left) + ", " +
               expression(right) + "))";
    if (operation->isRelationalOp() && left_points) {
        const QualType to = Types::pointee(left->getType());
        return "(lapwing_upc_minus(" + expression(left) + ", " + expression(right) + ", " + element_bytes(to) + ", " +
               block(to, left) + ") " + operation->getOpcodeStr().str() + " 0)";
    }
    return plain(operation);
}

std::string Emitter::increment(const UnaryOperator* operation) {
    const Expr* const inner = operation->getSubExpr();
    const bool before = operation->isPrefix();
    if (const auto walking = walking_.find(upcc::variable(inner)); walking != walking_.end()) {
        const std::string sign = operation->isIncrementOp() ? "++" : "--";
        return before ? "(" + sign + walking->second + ")" : "(" + walking->second + sign + ")";
    }
    const bool up = operation->isIncrementOp();
    const bool pointer = Types::points_to_shared(inner->getType());
    const std::string value = value_type(inner->getType());
    const std::string next =
        pointer ? plus("lapwing_o", inner, up ? "1" : "-1") : std::string{"lapwing_o "} + (up ? "+ 1" : "- 1");
    if (is_shared_place(inner)) {
        if (const std::string own = own_place(inner); !own.empty() && !pointer)
            return before ? std::string{up ? "(++" : "(--"} + own + ")" : "(" + own + (up ? "++)" : "--)");
        const bool strict = is_strict(inner);
        if (const MemberExpr* const member = bit_field(inner)) {
            const std::string name = "lapwing_s." + member->getMemberDecl()->getName().str();
            const std::string change = name + (up ? "++;" : "--;");
            if (before) return bit_field_update(member, "", change, "");
            return bit_field_update(member, "__typeof__(" + name + " + 0) lapwing_o = " + name + "; ", change,
                                    "lapwing_o");
        }
        return "({ lapwing_upc_pointer lapwing_a = " + place(inner) + "; " + value +
               " lapwing_o = " + load(value, "lapwing_a", strict) + ", lapwing_n = " + next + "; (void)" +
               store(value, "lapwing_a", "lapwing_n", strict) + "; " + (before ? "lapwing_n" : "lapwing_o") + "; })";
    }
    if (pointer && is_in_register(inner)) {
        const std::string name = expression(inner);
        return "({ lapwing_upc_pointer lapwing_o = " + name + "; " + name + " = " + next + "; " +
               (before ? name : "lapwing_o") + "; })";
    }
    if (pointer)
        return "({ " + declare(inner->getType(), "*lapwing_p") + " = &(" + expression(inner) +
               "), lapwing_o = *lapwing_p; *lapwing_p = " + next + "; " + (before ? "*lapwing_p" : "lapwing_o") +
               "; })";
    return plain(operation);
}

std::string Emitter::unary(const UnaryOperator* operation) {
    const Expr* const inner = operation->getSubExpr();
    if (operation->getOpcode() == UO_AddrOf && Types::is_shared(inner->getType())) return place(inner);
    if (operation->getOpcode() == UO_LNot && Types::points_to_shared(inner->getType()))
        return "lapwing_upc_null(" + expression(inner) + ")";
    if (operation->isIncrementDecrementOp()) return increment(operation);
    // A part of a complex number, which has lost the address space.
    if ((operation->getOpcode() == UO_Real || operation->getOpcode() == UO_Imag) &&
        Types::is_shared(inner->getType()) && inner->isGLValue())
        return (operation->getOpcode() == UO_Real ? "(__real__ " : "(__imag__ ") + get(inner) + ")";
    return plain(operation);
}

/// GNU's `p ?: q`.
std::string Emitter::conditional(const BinaryConditionalOperator* conditional) {
    if (!touches_shared(conditional)) return plain(conditional);
    const Expr* const common = conditional->getCommon();
    if (Types::points_to_shared(conditional->getType()) && is_null(common))
        return expression(conditional->getFalseExpr());
    const std::string test = Types::points_to_shared(common->getType()) ? "!lapwing_upc_null(lapwing_c)" : "lapwing_c";
    const std::string value = types_.is_shared(common->getType()) ? get(common) : expression(common);
    return "({ __typeof__(" + value + ") lapwing_c = " + value + "; " + test + " ? lapwing_c : (" +
           expression(conditional->getFalseExpr()) + "); })";
}

/// The C library's variadic functions know no pointers-to-shared: printf("%p") prints the address.
std::string Emitter::call(const CallExpr* call) {
    const FunctionDecl* const callee = call->getDirectCallee();
    if (callee == nullptr || !callee->isVariadic() || callee->getNumParams() == 0) return plain(call);
    if (callee->hasBody() || types_.mentions_shared(callee->getType())) return plain(call);
    const bool ours = callee->getBuiltinID() == 0 && !sources_.isInSystemHeader(callee->getLocation());
    if (ours) return plain(call);
    Pieces pieces;
    add_expression(call->getCallee(), pieces);
    for (unsigned k = 0; k < call->getNumArgs(); ++k) {
        add_expression(call->getArg(k), pieces);
        if (k >= callee->getNumParams() && Types::points_to_shared(call->getArg(k)->getType()))
            pieces.back().text = "((void*)lapwing_upc_addrfield(" + pieces.back().text + "))";
    }
    return splice(offset(call->getBeginLoc()), end_offset(call->getEndLoc()), pieces);
}

/// Its type may define a structure.
std::string Emitter::compound_literal(const CompoundLiteralExpr* literal) {
    const QualType t = literal->getType();
    if (Types::points_to_shared(t))
        return "(*(lapwing_upc_pointer[1]){ " + expression(literal->getInitializer()) + " })";
    if (types_.mentions_shared(t)) return "(" + type(t) + ")" + expression(literal->getInitializer());
    Pieces pieces;
    type_pieces(literal->getTypeSourceInfo()->getTypeLoc(), pieces);
    add_expression(literal->getInitializer(), pieces);
    return splice(offset(literal->getBeginLoc()), end_offset(literal->getEndLoc()), pieces);
}

std::string Emitter::expression(const Expr* e) {
    if (const auto* const one = dyn_cast<DeclRefExpr>(e); one != nullptr && !captured_.empty())
        if (const auto known = captured_.find(dyn_cast<VarDecl>(one->getDecl())); known != captured_.end())
            return known->second;
    if (std::string returns = nested_return(e); !returns.empty()) return returns;
    if (const auto* const one = dyn_cast<ImplicitCastExpr>(e)) return implicit_cast(one);
    if (const auto* const one = dyn_cast<CStyleCastExpr>(e)) return explicit_cast(one);
    if (const auto* const one = dyn_cast<UnaryExprOrTypeTraitExpr>(e)) return size_of(one);
    if (const auto* const one = dyn_cast<BinaryOperator>(e)) return binary(one);
    if (const auto* const one = dyn_cast<UnaryOperator>(e);
        one != nullptr && !(Types::is_shared(e->getType()) && e->isGLValue()))
        return unary(one);
    if (const auto* const one = dyn_cast<ParenExpr>(e)) {
        // The size operator, after the value that it has in the parse.
        if (prepared_.size_brackets.contains(offset(one->getLParen())))
            return expression(
                cast<BinaryOperator>(cast<BinaryOperator>(one->getSubExpr())->getRHS()->IgnoreImpCasts())->getRHS());
        return "(" + expression(one->getSubExpr()) + ")";
    }
    // The value is unused: before a comma, for example.
    if (Types::is_shared(e->getType()) && e->isGLValue()) return place(e);
    if (const auto* const one = dyn_cast<CallExpr>(e)) return call(one);
    if (const auto* const one = dyn_cast<BinaryConditionalOperator>(e)) return conditional(one);
    if (const auto* const one = dyn_cast<ConstantExpr>(e)) return expression(one->getSubExpr());
    // Braces around one value: those of the structure that it is in C would be meant.
    if (const auto* const one = dyn_cast<InitListExpr>(e); one != nullptr && Types::points_to_shared(e->getType()))
        return one->getNumInits() == 0 ? null_pointer : expression(one->getInit(0));
    if (const auto* const one = dyn_cast<InitListExpr>(e))
        return plain(one->getSyntacticForm() != nullptr ? one->getSyntacticForm() : one);
    if (const auto* const one = dyn_cast<CompoundLiteralExpr>(e)) return compound_literal(one);
    if (const auto* const one = dyn_cast<TypeTraitExpr>(e)) { // of types alone
        const bool compares = one->getTrait() == BTT_TypeCompatible;
        return is_true(*one) && (!compares || types_.same_layouts(one->getArg(0)->getType(), one->getArg(1)->getType()))
                   ? "1"
                   : "0";
    }
    if (const auto* const one = dyn_cast<VAArgExpr>(e); one != nullptr && types_.mentions_shared(e->getType()))
        return "__builtin_va_arg(" + expression(one->getSubExpr()) + ", " + type(e->getType()) + ")";
    if (const auto* const one = dyn_cast<StmtExpr>(e)) return "(" + statement(one->getSubStmt()) + ")";
    if (const auto* const one = dyn_cast<GenericSelectionExpr>(e); one != nullptr && touches_shared(e))
        return "(" + expression(one->getResultExpr()) + ")";
    if (const auto* const one = dyn_cast<OffsetOfExpr>(e);
        one != nullptr && types_.mentions_shared(one->getTypeSourceInfo()->getType()))
        return "__builtin_offsetof(" + value_type(one->getTypeSourceInfo()->getType()) +
               source(end_offset(one->getTypeSourceInfo()->getTypeLoc().getEndLoc()), end_offset(e->getEndLoc()));
    if (const auto* const one = dyn_cast<OffsetOfExpr>(e)) {
        Pieces pieces;
        type_pieces(one->getTypeSourceInfo()->getTypeLoc(), pieces);
        return splice(offset(e->getBeginLoc()), end_offset(e->getEndLoc()), pieces);
    }
    if (isa<PredefinedExpr>(e)) return source(e->getSourceRange());
    return plain(e);
}

} // namespace upcc
