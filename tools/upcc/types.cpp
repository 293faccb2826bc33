#include "types.hpp"

#include "main_function.hpp"

#include <algorithm>
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
        // The type of a value that comes from a shared object.
        if (isa<TypeOfExprType, AutoType>(here) && !is_shared(type)) break;
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
    // Of several, that which says a block size.
    std::string text;
    for (const std::string& other : tags(type, false))
        if (text.empty() || text == std::to_string(layout_default)) text = other;
    return text.empty() ? Layout{} : numbered(std::stoul(text));
}

Layout Types::numbered(std::size_t number) const {
    if (number == layout_default || number == layout_one) return {Layout::Kind::blocks, number, 1};
    if (number == layout_indefinite) return {Layout::Kind::indefinite, number, 0};
    const auto value = blocks_.find(number);
    if (prepared_.layouts[number].text == "*")
        return {Layout::Kind::even, number, value == blocks_.end() ? 0 : value->second};
    const std::uint64_t block = value == blocks_.end() ? 1 : value->second;
    return {block == 0 ? Layout::Kind::indefinite : Layout::Kind::blocks, number, block};
}

Qualifier Types::qualifier(QualType type) const {
    const std::string text = tag(type, true);
    return text == "strict" ? Qualifier::strict : text == "relaxed" ? Qualifier::relaxed : Qualifier::none;
}

bool Types::same_layouts(QualType a, QualType b) const {
    if (is_shared(a) && is_shared(b)) {
        const Layout one = layout(a), other = layout(b);
        const bool is_void = element(a)->isVoidType();
        if (!is_void && (one.is_indefinite() != other.is_indefinite() || one.block != other.block)) return false;
        if ((qualifier(a) == Qualifier::strict) != (qualifier(b) == Qualifier::strict)) return false;
    }
    if (a->isPointerType() && b->isPointerType()) return same_layouts(pointee(a), pointee(b));
    if (a->isArrayType() && b->isArrayType())
        return same_layouts(context_.getAsArrayType(a)->getElementType(), context_.getAsArrayType(b)->getElementType());
    const auto* const one = a->getAs<FunctionProtoType>();
    const auto* const other = b->getAs<FunctionProtoType>();
    if (one == nullptr || other == nullptr || one->getNumParams() != other->getNumParams()) return true;
    bool same = same_layouts(one->getReturnType(), other->getReturnType());
    for (unsigned k = 0; k < one->getNumParams(); ++k)
        same = same && same_layouts(one->getParamType(k), other->getParamType(k));
    return same;
}

std::string Types::conflict(QualType type) const {
    const std::vector<std::string> qualifiers = tags(type, true);
    for (const std::string& other : qualifiers)
        if (other != qualifiers.front()) return "strict and relaxed";
    std::optional<std::size_t> first;
    for (const std::string& other : tags(type, false)) {
        const std::size_t two = std::stoul(other);
        if (two == layout_default) continue; // without a block size it adds nothing
        const std::size_t one = first.value_or(two);
        first = one;
        const Layout a = numbered(one);
        const Layout b = numbered(two);
        if (a.kind == b.kind && (a.block == b.block || a.kind == Layout::Kind::even)) continue;
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

std::optional<std::size_t> Types::layout_of_constant(const EnumConstantDecl* constant) {
    StringRef name = constant->getName();
    std::size_t number = 0;
    if (!name.consume_front("lapwing_upcc_layout_") || name.getAsInteger(10, number)) return std::nullopt;
    return number;
}

void Types::find_blocks() {
    struct Finder : RecursiveASTVisitor<Finder> {
        Types* types = nullptr;
        bool VisitEnumConstantDecl(EnumConstantDecl* value) {
            const auto number = layout_of_constant(value);
            const llvm::APSInt& block = value->getInitVal();
            if (number && !block.isNegative() && block.getActiveBits() < 64)
                types->blocks_[*number] = block.getZExtValue();
            return true;
        }
        bool VisitVarDecl(VarDecl* variable) {
            if (variable->isInvalidDecl() || !is_shared(variable->getType())) return true;
            const Layout layout = types->layout(variable->getType());
            const auto block = types->even_block(variable->getType());
            if (layout.kind != Layout::Kind::even || !block || types->differ_.contains(layout.number)) return true;
            const auto [known, is_new] = types->blocks_.emplace(layout.number, *block);
            if (!is_new && known->second != *block) {
                types->blocks_.erase(known);
                types->differ_.insert(layout.number);
            }
            return true;
        }
    } finder;
    finder.types = this;
    finder.TraverseDecl(context_.getTranslationUnitDecl());
}

std::optional<std::uint64_t> Types::even_block(QualType array) const {
    if (!array->isArrayType()) return 1;
    const auto count = elements(array);
    const std::uint64_t threads = prepared_.threads_of_parse();
    if (!count || (prepared_.threads == 0 && *count % threads != 0)) return std::nullopt;
    return std::max<std::uint64_t>(1, (*count + threads - 1) / threads);
}

std::optional<std::uint64_t> Types::elements_of_thread(QualType type) const {
    const auto count = elements(type);
    const std::uint64_t threads = prepared_.threads_of_parse();
    return count && *count % threads == 0 ? std::optional{*count / threads} : std::nullopt;
}

std::optional<std::uint64_t> Types::size(SizeOperator kind, QualType type) const {
    const QualType of = element(type);
    if (of->isDependentType() || of->isIncompleteType() || of->isFunctionType()) return std::nullopt;
    const auto bytes = static_cast<std::uint64_t>(context_.getTypeSizeInChars(of).getQuantity());
    if (kind == SizeOperator::element) return bytes;
    const Layout layout = this->layout(type);
    std::optional<std::uint64_t> block = layout.is_indefinite() ? 0 : layout.block;
    if (layout.kind == Layout::Kind::even && *block == 0) block = even_block(type);
    if (kind == SizeOperator::block) return block;
    const auto count = elements(type);
    if (!count || !block) return std::nullopt;
    if (*block == 0) return prepared_.times_threads(*count) ? std::nullopt : std::optional{*count * bytes};
    if (!type->isArrayType()) return bytes;
    if (const auto each = elements_of_thread(type)) return (*each + *block - 1) / *block * *block * bytes;
    const std::uint64_t blocks = (*count + *block - 1) / *block;
    if (prepared_.threads == 0 && blocks > 1) return std::nullopt;
    return (blocks + prepared_.threads_of_parse() - 1) / prepared_.threads_of_parse() * *block * bytes;
}

std::string Types::in_upc(QualType type) const { return as_upc(type.getAsString(), prepared_); }

std::string as_upc(std::string text, const Prepared& prepared) {
    static const std::regex also{R"re( \(aka '[^']*address_space[^']*'\))re"};
    static const std::regex space{R"re(__attribute__\(\(address_space\(1\)\)\) ?)re"};
    static const std::regex layout{R"re( ?__attribute__\(\(btf_type_tag\("upc ([0-9]+)"\)\)\) ?)re"};
    static const std::regex qualifier{R"re( ?__attribute__\(\(btf_type_tag\("upc (strict|relaxed)"\)\)\) ?)re"};
    static const std::regex size{R"re(\(([0-9]+)UL \+ 0 \* sizeof ?(\([^()]*\)|[A-Za-z0-9_]+)\))re"};
    text = std::regex_replace(text, size, "$1");
    static const std::regex statement{R"re(lapwing_upcc_(barrier|notify|wait|fence)[01])re"};
    text = std::regex_replace(text, statement, "upc_$1");
    static const std::regex main{odd_main_name};
    text = std::regex_replace(text, main, "main");
    static const std::regex nested{R"re(lapwing_nested_[0-9]+_)re"};
    text = std::regex_replace(text, nested, "");
    text = std::regex_replace(text, also, "");
    // Clang writes it after the type.
    static const std::regex after{
        R"re((__attribute__\(\(address_space\(1\)\)\)) ?([A-Za-z_][A-Za-z0-9_ ]*?) ?((?: ?__attribute__\(\(btf_type_tag\("upc (?:[0-9]+|strict|relaxed)"\)\)\))+))re"};
    text = std::regex_replace(text, after, "$1 $3 $2 ");
    text = std::regex_replace(text, qualifier, " $1 ");
    for (std::smatch found; std::regex_search(text, found, layout);) {
        const std::size_t number = std::stoul(found[1]);
        const std::string brackets = number == layout_default ? " " : " [" + prepared.layouts[number].text + "] ";
        text = found.prefix().str() + brackets + found.suffix().str();
    }
    text = std::regex_replace(text, space, "shared ");
    // What the parse has in the place of THREADS, and places in the parsed text.
    static const std::regex dimension{R"re(\[([0-9]{7,})\])re"};
    std::string out;
    for (std::smatch found; std::regex_search(text, found, dimension); text = found.suffix().str()) {
        const std::uint64_t count = std::stoull(found[1]);
        const bool times = prepared.times_threads(count);
        const std::string factor =
            count == prepared.any_threads ? "" : std::to_string(count / prepared.any_threads) + "*";
        out += found.prefix().str() + (times ? "[" + factor + "THREADS]" : found[0].str());
    }
    static const std::regex unnamed{R"re(\((unnamed|anonymous) [a-z]+ at [^)]*\))re"};
    static const std::regex spaces{R"re( +)re"};
    static const std::regex quotes{R"re('([^']*?) ?')re"};
    text = std::regex_replace(std::regex_replace(out + text, unnamed, "(unnamed)"), spaces, " ");
    if (text.ends_with(' ')) text.pop_back();
    return std::regex_replace(text, quotes, "'$1'");
}

} // namespace upcc
