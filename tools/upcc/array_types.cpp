#include "array_types.hpp"

namespace upcc {

void ArrayTypes::note(std::size_t definition, bool at_file_scope) {
    bool shares = false;
    std::size_t inner = 0; // dimensions of the type before the names
    for (std::size_t k = tokens_.next(definition); k < tokens_.size() && !tokens_.is_sign(k, ';');
         k = tokens_.next(k)) {
        const std::size_t before = tokens_.previous(k);
        if (tokens_.is_sign(k, '[') && tokens_.is_name(before) && tokens_.word(before) != "shared") {
            std::size_t dimensions = inner + 1;
            for (std::size_t end = tokens_.closing(k); tokens_.is_sign(tokens_.next(end), '[');
                 end = tokens_.closing(tokens_.next(end)))
                ++dimensions;
            if (!shares) private_.insert_or_assign(tokens_.word(before), dimensions);
            else if (at_file_scope) shared_.insert(tokens_.word(before));
        }
        shares = shares || tokens_.word(k) == "shared";
        if (const auto known = private_.find(tokens_.word(k)); known != private_.end()) {
            inner = known->second;
            // `typedef row same;`
            const std::size_t name = tokens_.next(k);
            if (!shares && tokens_.is_name(name) && tokens_.is_sign(tokens_.next(name), ';'))
                private_.insert_or_assign(tokens_.word(name), inner);
        }
        if (tokens_.opens(k)) k = tokens_.closing(k);
    }
}

void ArrayTypes::parameter_of_shared_type(std::size_t type, std::size_t parentheses) {
    const std::size_t function = tokens_.previous(parentheses);
    const bool named = tokens_.is_name(function) && !is_attribute(tokens_.word(function)) &&
                       !tokens_.word(function).ends_with("sizeof");
    if (!named && !tokens_.is_sign(function, ')')) return;
    const std::string_view before = tokens_.word(tokens_.previous(type));
    if (before != "(" && before != "," && before != "const") return;
    std::size_t after = tokens_.next(type);
    if (tokens_.is_name(after)) after = tokens_.next(after);
    if (!tokens_.is_sign(after, ',') && !tokens_.is_sign(after, ')')) return;
    rewrites_.replace(type, "__typeof__(&(*(" + std::string{tokens_.word(type)} + "*)0)[0])");
}

bool ArrayTypes::qualify_elements(const SharedQualifier& qualifier) {
    const std::size_t type = private_type(qualifier);
    if (type == tokens_.size()) return false;
    rewrites_.replace(type, rows(type, 0, qualifier.tag));
    return true;
}

void ArrayTypes::parameter(const SharedQualifier& qualifier, std::size_t parentheses) {
    static const std::set<std::string_view> types{"char",   "short",  "int",      "long", "float",
                                                  "double", "signed", "unsigned", "void", "_Bool"};
    static const std::set<std::string_view> qualifiers{"shared",   "strict",   "relaxed", "const",
                                                       "volatile", "restrict", "register"};
    static const std::set<std::string_view> operators{"sizeof",   "typeof",      "__typeof__", "__typeof",
                                                      "_Alignof", "__alignof__", "__alignof"};
    const std::string_view before = tokens_.word(tokens_.previous(parentheses));
    if (operators.contains(before) || before.starts_with("upc_")) return;
    // A compound literal, `(shared int[3]){ 1 }`, has no name before it, as functions do.
    const std::size_t closing = tokens_.closing(parentheses);
    if (tokens_.is_sign(tokens_.next(closing), '{') && before != ")" &&
        (!tokens_.is_name(tokens_.previous(parentheses)) || before == "return"))
        return;
    // `int (*shared f[10])(int)` is an array.
    if (tokens_.is_sign(tokens_.next(parentheses), '*')) return;
    std::size_t words = 0; // of the type and the name; a word before the qualifier is one of the type
    const auto count = [&](std::size_t word) { words += qualifiers.contains(tokens_.word(word)) ? 0 : 1; };
    for (std::size_t k = tokens_.previous(qualifier.first); k > parentheses && tokens_.is_name(k);
         k = tokens_.previous(k))
        count(k);
    if (tokens_.is_sign(qualifier.in_front, '*')) ++words; // the type is complete
    std::size_t k = tokens_.next(qualifier.last);
    for (; tokens_.is_name(k); k = tokens_.next(k)) count(k);
    if (!tokens_.is_sign(k, '[')) return parameter_of_private_type(qualifier, k);
    const std::size_t end = tokens_.closing(k);
    std::size_t after = end;
    while (tokens_.is_sign(tokens_.next(after), '[')) after = tokens_.closing(tokens_.next(after));
    if (!tokens_.is_sign(tokens_.next(after), ',') && !tokens_.is_sign(tokens_.next(after), ')')) return;
    const std::size_t name = tokens_.previous(k);
    const std::string_view tag = tokens_.word(tokens_.previous(name));
    const bool unnamed = words < 2 || types.contains(tokens_.word(name)) || qualifiers.contains(tokens_.word(name)) ||
                         tag == "struct" || tag == "union" || tag == "enum";
    if (unnamed && words == 0) return;
    erase(k, end);
    if (unnamed) rewrites_.replace(k, "(*)");
    else rewrites_.replace(name, "(*" + std::string{tokens_.word(name)} + ")");
}

void ArrayTypes::old_parameters(const SharedQualifier& qualifier) {
    int depth = 0;
    for (std::size_t k = tokens_.next(qualifier.last); k < tokens_.size() && !(depth == 0 && tokens_.is_sign(k, ';'));
         k = tokens_.next(k)) {
        if (tokens_.is_sign(k, '(') || tokens_.is_sign(k, '{')) ++depth;
        if (tokens_.is_sign(k, ')') || tokens_.is_sign(k, '}')) --depth;
        const std::size_t name = tokens_.previous(k);
        if (depth != 0 || !tokens_.is_sign(k, '[') || !tokens_.is_name(name)) continue;
        const std::size_t end = tokens_.closing(k);
        erase(k, end);
        rewrites_.replace(name, "(*" + std::string{tokens_.word(name)} + ")");
        k = end;
    }
}

/// Of the declaration, the name of a type of private arrays; the end if it has another type.
std::size_t ArrayTypes::private_type(const SharedQualifier& qualifier) const {
    static const std::set<std::string_view> others{"const",  "volatile", "strict",   "relaxed",
                                                   "static", "extern",   "register", "auto"};
    std::size_t after = tokens_.next(qualifier.last);
    while (others.contains(tokens_.word(after))) after = tokens_.next(after);
    if (private_.contains(tokens_.word(after))) return after;
    std::size_t before = qualifier.first == 0 ? 0 : tokens_.previous(qualifier.first);
    while (before > 0 && others.contains(tokens_.word(before))) before = tokens_.previous(before);
    return private_.contains(tokens_.word(before)) ? before : tokens_.size();
}

/// The type of arrays with the qualifier at its elements, without the first dimensions.
std::string ArrayTypes::rows(std::size_t type, std::size_t without, const std::string& tag) const {
    const std::string_view name = tokens_.word(type);
    const std::size_t dimensions = private_.find(name)->second;
    std::string part = "(*(" + std::string{name} + "*)0)", lengths;
    for (std::size_t k = 0; k < dimensions; ++k) {
        if (k >= without) lengths.append("[sizeof ").append(part).append("/sizeof ").append(part).append("[0]]");
        part += "[0]";
    }
    return "__typeof__(" + tag + " __typeof__(" + part + ")" + lengths + ")";
}

void ArrayTypes::parameter_of_private_type(const SharedQualifier& qualifier, std::size_t end) {
    const std::size_t type = tokens_.next(qualifier.last);
    if (!private_.contains(tokens_.word(type))) return;
    if (!tokens_.is_sign(end, ',') && !tokens_.is_sign(end, ')')) return;
    const std::size_t name = tokens_.next(type);
    if (name != end && tokens_.next(name) != end) return;
    rewrites_.replace(type, rows(type, 1, qualifier.tag) + (name == end ? "(*)" : ""));
    if (name != end) rewrites_.replace(name, "(*" + std::string{tokens_.word(name)} + ")");
}

void ArrayTypes::erase(std::size_t first, std::size_t last) {
    for (std::size_t k = first; k <= last && k < tokens_.size(); ++k)
        if (tokens_[k].kind != TokenKind::directive) rewrites_.replace(k, "");
}

} // namespace upcc
