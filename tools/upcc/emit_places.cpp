// Shared objects: their addresses, how they are read and written, and arithmetic on pointers to them.
#include "emit.hpp"

#include <clang/AST/RecordLayout.h>

using namespace clang;

namespace upcc {

namespace {

/// The shared variable that a pointer or lvalue refers to, if it can be determined.
[[nodiscard]] const VarDecl* root(const Expr* expression) {
    struct Finder : RecursiveASTVisitor<Finder> {
        const VarDecl* found = nullptr;
        bool VisitDeclRefExpr(DeclRefExpr* reference) {
            const auto* const variable = dyn_cast<VarDecl>(reference->getDecl());
            if (found == nullptr && variable != nullptr && Types::is_shared(variable->getType())) found = variable;
            return true;
        }
    } finder;
    finder.TraverseStmt(const_cast<Expr*>(expression));
    return finder.found;
}

} // namespace

std::string Emitter::element_bytes(QualType shared) {
    const QualType element = types_.element(shared);
    return element->isVoidType() || element->isFunctionType() ? "1" : "sizeof(" + value_type(element) + ")";
}

std::string Emitter::step(QualType pointee) {
    if (!pointee->isArrayType()) return {};
    std::string factor;
    for (QualType t = pointee.getCanonicalType(); t->isArrayType(); t = context_.getAsArrayType(t)->getElementType()) {
        const auto* const array = context_.getAsConstantArrayType(t);
        if (array != nullptr) factor += "*(ptrdiff_t)(" + number(array->getSize()) + ")";
        else if (const auto* const variable = context_.getAsVariableArrayType(t))
            factor += "*(ptrdiff_t)(" + expression(variable->getSizeExpr()) + ")";
    }
    return factor;
}

std::string Emitter::block_of_array(QualType shared) {
    if (!shared->isArrayType()) return "1";
    if (const auto each = types_.elements_of_thread(shared)) return "((size_t)" + std::to_string(*each) + ")";
    const std::string elements = "(1" + step(shared) + ")";
    return "((size_t)((" + elements + " + THREADS - 1) / THREADS))";
}

std::string Emitter::block(QualType shared, const Expr* of) {
    const Layout layout = types_.layout(shared);
    if (layout.is_indefinite() || types_.element(shared)->isVoidType()) return "0";
    if (layout.kind == Layout::Kind::blocks) return std::to_string(layout.block);
    if (const VarDecl* const variable = of == nullptr ? nullptr : root(of);
        variable != nullptr && types_.layout(variable->getType()).kind == Layout::Kind::even)
        return block_of_array(variable->getType());
    if (layout.block != 0) return std::to_string(layout.block);
    if (of != nullptr)
        error(of->getExprLoc(),
              "the block size [*] needs an array that is seen here; pointers have a block size of their own");
    return "1";
}

std::string Emitter::plus(const std::string& pointer, const Expr* typed, const std::string& elements, bool minus) {
    const QualType to = Types::pointee(typed->getType());
    return "lapwing_upc_plus(" + pointer + ", " + element_bytes(to) + ", " + block(to, typed) + ", " +
           (minus ? "-" : "") + "(ptrdiff_t)(" + elements + ")" + step(to) + ")";
}

std::string Emitter::minus(const BinaryOperator* difference) {
    const Expr* const left = difference->getLHS();
    const QualType to = Types::pointee(left->getType());
    const std::string factor = step(to);
    const std::string elements = "lapwing_upc_minus(" + expression(left) + ", " + expression(difference->getRHS()) +
                                 ", " + element_bytes(to) + ", " + block(to, left) + ")";
    return factor.empty() ? elements : "(" + elements + "/(1" + factor + "))";
}

/// What a member belongs to. Those of a null pointer are before the heap, where accesses detect that; those of so large
/// a structure may not be. Here a pointer-to-shared in it counts as half of its bytes.
std::string Emitter::base_place(const MemberExpr* member) {
    constexpr std::int64_t surely_before_the_heap = 16384;
    const Expr* const base = member->getBase()->IgnoreParens();
    const Expr* pointer = member->isArrow() ? base : nullptr;
    if (const auto* const of = dyn_cast<UnaryOperator>(base); of != nullptr && of->getOpcode() == UO_Deref)
        pointer = of->getSubExpr();
    if (pointer == nullptr) return place(base);
    std::string text = expression(pointer);
    const QualType whole = Types::pointee(pointer->getType());
    // Zero itself is for offsets of members.
    if (pointer->IgnoreParenCasts()->isNullPointerConstant(context_, Expr::NPC_ValueDependentIsNotNull) !=
            Expr::NPCK_NotNull ||
        context_.getTypeSizeInChars(whole).getQuantity() <= surely_before_the_heap / 2)
        return text;
    return "lapwing_upcc_whole(" + text + ", sizeof(" + value_type(whole) + "))";
}

std::string Emitter::member_place(const MemberExpr* member) {
    const auto* const field = cast<FieldDecl>(member->getMemberDecl());
    if (field->isAnonymousStructOrUnion()) return base_place(member);
    // Through anonymous structures, whose members offsetof knows by the enclosing one.
    const MemberExpr* outer = member;
    while (const auto* const inner = dyn_cast<MemberExpr>(outer->getBase()->IgnoreParens())) {
        if (!cast<FieldDecl>(inner->getMemberDecl())->isAnonymousStructOrUnion()) break;
        outer = inner;
    }
    const QualType whole = outer->isArrow() ? Types::pointee(outer->getBase()->getType()) : outer->getBase()->getType();
    return "lapwing_upc_inside(" + base_place(outer) + ", __builtin_offsetof(" + value_type(whole) + ", " +
           field->getName().str() + "))";
}

/// Of an element in blocks of one: `base[round * THREADS + thread]`, and `base[round][thread]` where rows have THREADS
/// elements.
std::optional<Emitter::InRounds> Emitter::rounds_of(const ArraySubscriptExpr* subscript) const {
    if (const auto rounds = block_reads_.rounds_of(subscript))
        return InRounds{subscript->getBase(), rounds->round, rounds->thread};
    const auto* const row = dyn_cast<ArraySubscriptExpr>(subscript->getBase()->IgnoreParenImpCasts());
    const ConstantArrayType* const columns = row == nullptr ? nullptr : context_.getAsConstantArrayType(row->getType());
    if (columns == nullptr || subscript->getType()->isArrayType()) return std::nullopt;
    if (!types_.layout(row->getType()).is_dealt() || columns->getSize() != prepared_.threads_of_parse())
        return std::nullopt;
    return InRounds{row->getBase(), row->getIdx(), subscript->getIdx()};
}

std::string Emitter::place(const Expr* lvalue) {
    lvalue = lvalue->IgnoreParens();
    if (const auto* const reference = dyn_cast<DeclRefExpr>(lvalue)) {
        const auto* const variable = dyn_cast<VarDecl>(reference->getDecl());
        return variable != nullptr ? name_of(variable) : reference->getDecl()->getName().str();
    }
    if (const auto* const subscript = dyn_cast<ArraySubscriptExpr>(lvalue)) {
        if (subscript->getBase()->getType()->isVectorType())
            return "lapwing_upc_inside(" + place(subscript->getBase()) + ", (" + expression(subscript->getIdx()) +
                   ") * sizeof(" + value_type(lvalue->getType()) + "))";
        if (const auto found = rounds_of(subscript)) // without a division
            return "lapwing_upcc_in_round(" + expression(found->base) + ", " + element_bytes(subscript->getType()) +
                   ", " + expression(found->round) + ", " +
                   (found->thread == nullptr ? "0" : expression(found->thread)) + ")";
        return plus(expression(subscript->getBase()), subscript->getBase(), expression(subscript->getIdx()));
    }
    if (const auto* const member = dyn_cast<MemberExpr>(lvalue)) return member_place(member);
    if (const auto* const unary = dyn_cast<UnaryOperator>(lvalue)) {
        if (unary->getOpcode() == UO_Deref) return expression(unary->getSubExpr());
        if (unary->getOpcode() == UO_Extension || unary->getOpcode() == UO_Real) return place(unary->getSubExpr());
        if (unary->getOpcode() == UO_Imag)
            return "lapwing_upc_inside(" + place(unary->getSubExpr()) + ", sizeof(" + value_type(lvalue->getType()) +
                   "))";
    }
    error(lvalue->getExprLoc(), "this is not supported as a shared object");
    return "0";
}

bool Emitter::is_strict(const Expr* lvalue) {
    // A member has the qualifier of its structure.
    for (const Expr* e = lvalue->IgnoreParens();;) {
        const Qualifier own = types_.qualifier(e->getType());
        if (own != Qualifier::none) return own == Qualifier::strict;
        const auto* const member = dyn_cast<MemberExpr>(e);
        const auto* const subscript = dyn_cast<ArraySubscriptExpr>(e);
        if (member != nullptr) e = member->getBase()->IgnoreParenImpCasts();
        else if (subscript != nullptr) e = subscript->getBase()->IgnoreParenImpCasts();
        else break;
        if (Types::points_to_shared(e->getType())) {
            const Qualifier pointed = types_.qualifier(Types::pointee(e->getType()));
            if (pointed != Qualifier::none) return pointed == Qualifier::strict;
            break;
        }
    }
    return prepared_.strict_at(offset(lvalue->getExprLoc()));
}

std::string Emitter::load(const std::string& value_type, const std::string& place, bool strict) const {
    return "({ " + value_type + " lapwing_v; lapwing_upc_" + (strict ? "get_strict" : "load") + "(&lapwing_v, " +
           place + ", sizeof lapwing_v); lapwing_v; })";
}

std::string Emitter::store(const std::string& value_type, const std::string& place, const std::string& value,
                           bool strict) const {
    return "({ " + value_type + " lapwing_v = (" + value + "); lapwing_upc_" + (strict ? "put_strict" : "store") + "(" +
           place + ", &lapwing_v, sizeof lapwing_v); lapwing_v; })";
}

const MemberExpr* Emitter::bit_field(const Expr* lvalue) const {
    const auto* const member = dyn_cast<MemberExpr>(lvalue->IgnoreParens());
    return member != nullptr && cast<FieldDecl>(member->getMemberDecl())->isBitField() ? member : nullptr;
}

std::string Emitter::get(const Expr* lvalue) {
    if (const std::string own = own_place(lvalue); !own.empty()) return "(" + own + ")";
    if (const std::string read = place_in(reads_, lvalue); !read.empty()) return "(" + read + ")";
    if (const MemberExpr* const member = bit_field(lvalue)) {
        const BitFieldBytes at = bytes_of(member);
        // With C's promotion, which the value of a block would not have.
        return "({ " + at.declarations + at.load + "; +lapwing_s." + member->getMemberDecl()->getName().str() + "; })";
    }
    return load(value_type(lvalue->getType()), place(lvalue), is_strict(lvalue));
}

std::string Emitter::put(const Expr* lvalue, const std::string& value) {
    if (const std::string own = own_place(lvalue); !own.empty()) return "(" + own + " = (" + value + "))";
    if (const std::string gathered = place_in(writes_, lvalue); !gathered.empty())
        return "(" + gathered + " = (" + value + "))";
    if (const MemberExpr* const member = bit_field(lvalue))
        return with_value(lvalue->getType(), value,
                          bit_field_update(member, "",
                                           "lapwing_s." + member->getMemberDecl()->getName().str() + " = lapwing_v;",
                                           ""));
    return store(value_type(lvalue->getType()), place(lvalue), value, is_strict(lvalue));
}

/// The value is known before `text` begins, which calls it lapwing_v: it may change bits that `text` reads and writes
/// back.
std::string Emitter::with_value(QualType type, const std::string& value, const std::string& text) {
    return "({ " + value_type(type) + " lapwing_v = (" + value + "); " + text + "; })";
}

/// The bytes that contain the bit-field, and no others, in a private structure at their place.
Emitter::BitFieldBytes Emitter::bytes_of(const MemberExpr* member) {
    const Expr* const base = member->getBase();
    const QualType whole = member->isArrow() ? Types::pointee(base->getType()) : base->getType();
    const auto* const field = cast<FieldDecl>(member->getMemberDecl());
    const std::uint64_t bit = context_.getASTRecordLayout(field->getParent()).getFieldOffset(field->getFieldIndex());
    const std::uint64_t width = field->getBitWidth()->EvaluateKnownConstInt(context_).getZExtValue();
    const std::uint64_t first = bit / 8;
    const std::string bytes = std::to_string((bit + width - 1) / 8 - first + 1);
    const std::string place_of = base_place(member);
    const std::string here = "(char*)&lapwing_s + " + std::to_string(first);
    const bool strict = is_strict(member);
    return {value_type(whole) + " lapwing_s; const lapwing_upc_pointer lapwing_a = lapwing_upc_inside(" + place_of +
                ", " + std::to_string(first) + "); ",
            std::string{strict ? "lapwing_upc_get_strict(" : "lapwing_upc_load("} + here + ", lapwing_a, " + bytes +
                ")",
            std::string{strict ? "lapwing_upc_put_strict(" : "lapwing_upc_store("} + "lapwing_a, " + here + ", " +
                bytes + ")"};
}

/// Reads the bytes of the bit-field, and writes them back after `statement`, which changes lapwing_s.
std::string Emitter::bit_field_update(const MemberExpr* member, const std::string& before, const std::string& statement,
                                      const std::string& result) {
    const BitFieldBytes at = bytes_of(member);
    return "({ " + at.declarations + at.load + "; " + before + statement + " " + at.store + "; " +
           (result.empty() ? "lapwing_s." + member->getMemberDecl()->getName().str() : result) + "; })";
}

/// Between pointers-to-shared: a different layout or element size resets the phase.
std::string Emitter::convert(const CastExpr* cast) {
    std::string pointer = expression(cast->getSubExpr());
    const QualType to = Types::pointee(cast->getType());
    const QualType from = Types::pointee(cast->getSubExpr()->getType());
    if (types_.element(to)->isVoidType()) return pointer;
    const Layout target = types_.layout(to);
    if (types_.element(from)->isVoidType()) {
        return target.is_dealt() || target.is_indefinite() ? "lapwing_upc_phase_zero(" + pointer + ")" : pointer;
    }
    const Layout source = types_.layout(from);
    const bool alike =
        source.is_indefinite() ? target.is_indefinite() : !target.is_indefinite() && source.block == target.block;
    const QualType a = types_.element(to);
    const QualType b = types_.element(from);
    const bool same_size = !a->isIncompleteType() && !b->isIncompleteType() &&
                           context_.getTypeSizeInChars(a) == context_.getTypeSizeInChars(b);
    return alike && (same_size || a->isIncompleteType() || b->isIncompleteType())
               ? pointer
               : "lapwing_upc_phase_zero(" + pointer + ")";
}

std::string Emitter::size_of_shared(QualType type) { return "(" + element_bytes(type) + step(type) + ")"; }

std::string Emitter::size_of(const UnaryExprOrTypeTraitExpr* size) {
    const QualType t = size->getTypeOfArgument();
    const auto found = prepared_.size_operators.find(offset(size->getOperatorLoc()));
    if (found == prepared_.size_operators.end()) {
        if (types_.is_shared(t))
            return size->getKind() == UETT_SizeOf ? "((size_t)" + size_of_shared(t) + ")"
                                                  : "_Alignof(" + value_type(types_.element(t)) + ")";
        const bool rewritten =
            types_.mentions_shared(t) || (!size->isArgumentType() && touches_shared(size->getArgumentExpr()));
        if (rewritten) return std::string{size->getKind() == UETT_SizeOf ? "sizeof(" : "_Alignof("} + type(t) + ")";
        if (!size->isArgumentType()) return plain(size);
        Pieces pieces;
        type_pieces(size->getArgumentTypeInfo()->getTypeLoc(), pieces);
        return splice(offset(size->getBeginLoc()), end_offset(size->getEndLoc()), pieces);
    }
    const Expr* const of = size->isArgumentType() ? nullptr : size->getArgumentExpr();
    const Layout layout = types_.layout(t);
    const std::string in_block = layout.kind == Layout::Kind::even && of == nullptr ? block_of_array(t) : block(t, of);
    switch (found->second.kind) {
    case SizeOperator::element: return "((size_t)" + element_bytes(t) + ")";
    case SizeOperator::block: return "((size_t)" + in_block + ")";
    case SizeOperator::local: break;
    }
    const std::string elements = "(size_t)(1" + step(t) + ")";
    if (layout.is_indefinite()) return "((size_t)" + size_of_shared(t) + ")";
    if (!t->isArrayType()) return "((size_t)" + element_bytes(t) + ")";
    if (const auto each = types_.elements_of_thread(t);
        each && (layout.kind == Layout::Kind::even || layout.block != 0)) {
        const std::uint64_t whole = layout.kind == Layout::Kind::even ? 1 : layout.block;
        return "((size_t)" + std::to_string((*each + whole - 1) / whole * whole) + "*" + element_bytes(t) + ")";
    }
    // The blocks of the thread that has the most.
    const std::string blocks = "((" + elements + " + " + in_block + " - 1)/" + in_block + ")";
    return "((" + blocks + " + THREADS - 1)/THREADS*" + in_block + "*" + element_bytes(t) + ")";
}

} // namespace upcc
