#include "types.hpp"

#include <regex>

using namespace clang;

namespace upcc {

bool Types::is_shared(QualType type) {
    return !type.isNull() && isTargetAddressSpace(type.getQualifiers().getAddressSpace());
}

bool Types::points_to_shared(QualType type) {
    if (type.isNull()) return false;
    const auto* const pointer = type->getAs<PointerType>();
    return pointer != nullptr && is_shared(pointer->getPointeeType());
}

bool Types::mentions_shared(QualType type) const {
    if (type.isNull()) return false;
    if (is_shared(type) || points_to_shared(type)) return true;
    type = type.getCanonicalType();
    if (const auto* const pointer = dyn_cast<PointerType>(type)) return mentions_shared(pointer->getPointeeType());
    if (const auto* const array = dyn_cast<ArrayType>(type)) return mentions_shared(array->getElementType());
    if (const auto* const function = dyn_cast<FunctionType>(type)) {
        if (mentions_shared(function->getReturnType())) return true;
        if (const auto* const prototype = dyn_cast<FunctionProtoType>(function))
            for (const QualType parameter : prototype->param_types())
                if (mentions_shared(parameter)) return true;
    }
    return false;
}

bool Types::holds_pointer_to_shared(QualType type) const {
    if (points_to_shared(type)) return true;
    type = element(type.getCanonicalType());
    if (points_to_shared(type)) return true;
    if (const RecordDecl* const record = type->getAsRecordDecl())
        for (const FieldDecl* const field : record->fields())
            if (holds_pointer_to_shared(field->getType())) return true;
    return false;
}

QualType Types::without_shared(QualType type) const {
    type = type.getCanonicalType();
    if (const auto* const array = context_.getAsConstantArrayType(type))
        return context_.getConstantArrayType(without_shared(array->getElementType()), array->getSize(), nullptr,
                                             array->getSizeModifier(), 0);
    if (const auto* const array = context_.getAsIncompleteArrayType(type))
        return context_.getIncompleteArrayType(without_shared(array->getElementType()), array->getSizeModifier(), 0);
    return type.getUnqualifiedType();
}

std::vector<std::string> Types::tags(QualType type, bool qualifier) const {
    std::vector<std::string> found;
    while (!type.isNull()) {
        const Type* const here = type.getTypePtr();
        if (const auto* const tagged = dyn_cast<BTFTagAttributedType>(here)) {
            StringRef text = tagged->getAttr()->getBTFTypeTag();
            if (text.consume_front("upc ")) {
                const bool is_qualifier = text == "strict" || text == "relaxed";
                if (is_qualifier == qualifier) found.push_back(text.str());
            }
            type = tagged->getWrappedType();
        } else if (const auto* const array = dyn_cast<ArrayType>(here)) {
            type = array->getElementType();
        } else if (const auto* const attributed = dyn_cast<AttributedType>(here)) {
            type = attributed->getModifiedType();
        } else if (const auto* const adjusted = dyn_cast<AdjustedType>(here)) {
            type = adjusted->getOriginalType();
        } else {
            const QualType inner = type.getSingleStepDesugaredType(context_);
            if (inner == type || inner.getTypePtr() == here) break;
            type = inner;
        }
    }
    return found;
}

std::string Types::tag(QualType type, bool qualifier) const {
    const std::vector<std::string> all = tags(type, qualifier);
    return all.empty() ? std::string{} : all.front();
}

Layout Types::layout(QualType type) const {
    const std::string text = tag(type, false);
    return text.empty() ? Layout{} : numbered(std::stoul(text));
}

Layout Types::numbered(std::size_t number) const {
    if (number == layout_default) return {Layout::Kind::blocks, number, 1};
    if (number == layout_indefinite) return {Layout::Kind::indefinite, number, 0};
    if (prepared_.layouts[number].text == "*") return {Layout::Kind::even, number, 0};
    const auto value = blocks_.find(number);
    const std::uint64_t block = value == blocks_.end() ? 1 : value->second;
    return {block == 0 ? Layout::Kind::indefinite : Layout::Kind::blocks, number, block};
}

Qualifier Types::qualifier(QualType type) const {
    const std::string text = tag(type, true);
    return text == "strict" ? Qualifier::strict : text == "relaxed" ? Qualifier::relaxed : Qualifier::none;
}

std::string Types::conflict(QualType type) const {
    const std::vector<std::string> qualifiers = tags(type, true);
    for (const std::string& other : qualifiers)
        if (other != qualifiers.front()) return "strict and relaxed";
    const std::vector<std::string> layouts = tags(type, false);
    for (const std::string& other : layouts) {
        const std::size_t one = std::stoul(layouts.front());
        const std::size_t two = std::stoul(other);
        const Layout a = numbered(one);
        const Layout b = numbered(two);
        if (a.kind == b.kind && a.block == b.block) continue;
        return "shared [" + prepared_.layouts[two].text + "] and shared [" + prepared_.layouts[one].text + "]";
    }
    return {};
}

std::optional<std::uint64_t> Types::elements(QualType type) const {
    std::uint64_t count = 1;
    type = type.getCanonicalType();
    while (type->isArrayType()) {
        const auto* const array = context_.getAsConstantArrayType(type);
        if (array == nullptr) return std::nullopt;
        count *= array->getSize().getZExtValue();
        type = array->getElementType();
    }
    return count;
}

std::string Types::in_upc(QualType type) const { return as_upc(type.getAsString(), prepared_); }

std::string as_upc(std::string text, const Prepared& prepared) {
    static const std::regex also{R"re( \(aka '[^']*address_space[^']*'\))re"};
    static const std::regex space{R"re(__attribute__\(\(address_space\(1\)\)\) ?)re"};
    static const std::regex layout{R"re( ?__attribute__\(\(btf_type_tag\("upc ([0-9]+)"\)\)\) ?)re"};
    static const std::regex qualifier{R"re( ?__attribute__\(\(btf_type_tag\("upc (strict|relaxed)"\)\)\) ?)re"};
    static const std::regex statement{R"re(lapwing_upcc_(barrier|notify|wait|fence)[01])re"};
    text = std::regex_replace(text, statement, "upc_$1");
    text = std::regex_replace(text, also, "");
    text = std::regex_replace(text, qualifier, " $1 ");
    for (std::smatch found; std::regex_search(text, found, layout);) {
        const std::size_t number = std::stoul(found[1]);
        const std::string brackets = number == layout_default ? " " : " [" + prepared.layouts[number].text + "] ";
        text = found.prefix().str() + brackets + found.suffix().str();
    }
    text = std::regex_replace(text, space, "shared ");
    static const std::regex spaces{R"re( +)re"};
    static const std::regex ends{R"re(' | '(?=[ ,;.)]|$))re"};
    return std::regex_replace(text, spaces, " ");
}

} // namespace upcc
