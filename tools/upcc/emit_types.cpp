// Types in C. A pointer-to-shared is a lapwing_upc_pointer.
#include "emit.hpp"

using namespace clang;

namespace upcc {

std::string Emitter::qualifiers(QualType type) {
    std::string out;
    if (type.isLocalConstQualified()) out += "const ";
    if (type.isLocalVolatileQualified()) out += "volatile ";
    return out;
}

/// A multiple of the prime that THREADS is during parsing is a multiple of THREADS.
std::string Emitter::number(const llvm::APInt& value) const {
    const std::uint64_t count = value.getZExtValue();
    if (prepared_.times_threads(count)) return std::to_string(count / prepared_.any_threads) + "L*THREADS";
    return std::to_string(count);
}

std::string Emitter::record_name(const TagDecl* record) {
    if (record->getIdentifier() != nullptr) return record->getKindName().str() + " " + record->getName().str();
    if (const TypedefNameDecl* const name = record->getTypedefNameForAnonDecl();
        name != nullptr && !types_.is_shared(name->getUnderlyingType()))
        return name->getName().str();
    return record->getKindName().str() + " lapwing_upcc_unnamed_" + std::to_string(offset(record->getBeginLoc()));
}

std::string Emitter::function_declarator(const FunctionType* function, const std::string& name) {
    std::string parameters;
    if (const auto* const prototype = dyn_cast<FunctionProtoType>(function)) {
        for (const QualType parameter : prototype->param_types())
            parameters += (parameters.empty() ? "" : ", ") + type(parameter);
        if (prototype->isVariadic()) parameters += ", ...";
        if (prototype->getNumParams() == 0) parameters = "void";
    }
    return declare(function->getReturnType(), name + "(" + parameters + ")");
}

std::string Emitter::declare(QualType t, const std::string& name) {
    const std::string before = qualifiers(t);
    const Type* const here = t.getTypePtr();
    if (types_.points_to_shared(t)) {
        // Also that of a typedef's type. A constant one is not: it may have its value only at the start.
        const bool is_volatile = t.isVolatileQualified() && !t.isLocalVolatileQualified();
        return before + (is_volatile ? "volatile " : "") + "lapwing_upc_pointer " + name;
    }
    if (const auto* const definition = dyn_cast<TypedefType>(here))
        if (!types_.is_shared(t)) return before + definition->getDecl()->getName().str() + " " + name;
    if (const auto* const pointer = dyn_cast<PointerType>(here)) {
        const QualType to = pointer->getPointeeType();
        const std::string inner = "*" + before + (t.isLocalRestrictQualified() ? "restrict " : "") + name;
        return declare(to, to->isArrayType() || to->isFunctionType() ? "(" + inner + ")" : inner);
    }
    if (const auto* const array = dyn_cast<ConstantArrayType>(here))
        return declare(array->getElementType(), name + "[" + number(array->getSize()) + "]");
    if (const auto* const array = dyn_cast<IncompleteArrayType>(here))
        return declare(array->getElementType(), name + "[]");
    if (const auto* const array = dyn_cast<VariableArrayType>(here))
        return declare(array->getElementType(),
                       name + "[" + (array->getSizeExpr() != nullptr ? expression(array->getSizeExpr()) : "") + "]");
    if (const auto* const function = dyn_cast<FunctionType>(here)) return function_declarator(function, name);
    if (const auto* const tagged = dyn_cast<TagType>(here)) {
        if (isa<EnumType>(tagged) && tagged->getDecl()->getIdentifier() == nullptr &&
            tagged->getDecl()->getTypedefNameForAnonDecl() == nullptr)
            return before + cast<EnumType>(tagged)->getDecl()->getIntegerType().getAsString() + " " + name;
        return before + record_name(tagged->getDecl()) + " " + name;
    }
    if (isa<BuiltinType>(here))
        return before + QualType(here, 0).getAsString(PrintingPolicy(context_.getLangOpts())) + " " + name;
    if (isa<ComplexType>(here)) return before + "_Complex " + declare(cast<ComplexType>(here)->getElementType(), name);
    if (const auto* const adjusted = dyn_cast<AdjustedType>(here)) return declare(adjusted->getAdjustedType(), name);
    const QualType inner = t.getSingleStepDesugaredType(context_);
    if (inner != t) return declare(inner, name);
    std::string out = name;
    t.getAsStringInternal(out, PrintingPolicy(context_.getLangOpts()));
    return out;
}

std::string Emitter::value_type(QualType shared) {
    const std::string text = declare(types_.without_shared(shared), "");
    return text.find_first_of("([") == text.npos ? text : "__typeof__(" + text + ")";
}

void Emitter::type_pieces(TypeLoc type, Pieces& pieces) {
    for (; !type.isNull(); type = type.getNextTypeLoc()) {
        if (const auto array = type.getAs<ArrayTypeLoc>(); array && array.getSizeExpr() != nullptr) {
            add_expression(array.getSizeExpr(), pieces);
            // Here it is not marked as read.
            if (const Expr* const size = array.getSizeExpr(); size->isGLValue() && Types::is_shared(size->getType()))
                pieces.back().text = get(size);
        } else if (const auto of = type.getAs<TypeOfExprTypeLoc>()) add_expression(of.getUnderlyingExpr(), pieces);
        else if (const auto of_type = type.getAs<TypeOfTypeLoc>())
            type_pieces(of_type.getUnmodifiedTInfo()->getTypeLoc(), pieces);
        if (const auto tag = type.getAs<TagTypeLoc>(); tag && tag.isDefinition())
            if (const auto* const record = dyn_cast<RecordDecl>(tag.getDecl())) record_pieces(record, pieces);
        if (type.getAs<FunctionTypeLoc>() || type.getAs<TypedefTypeLoc>()) return;
    }
}

} // namespace upcc
