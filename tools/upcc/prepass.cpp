#include "prepass.hpp"

#include <algorithm>
#include <set>

namespace upcc {

bool Prepared::strict_at(std::size_t offset) const {
    const auto after = strict_from_.upper_bound(offset);
    return after != strict_from_.begin() && std::prev(after)->second;
}

std::size_t Prepared::source_of(std::size_t offset) const {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), std::pair{offset, SIZE_MAX});
    if (after == segments_.begin()) return 0;
    const auto& [begin, source] = *std::prev(after);
    // Inserted text belongs to the place where it was inserted.
    const std::size_t next = after == segments_.end() ? SIZE_MAX : after->second;
    return std::min(source + (offset - begin), next == SIZE_MAX ? next : std::max(next, source));
}

/// Passes through the tokens once, and writes each unchanged or replaced.
class Prepass {
public:
    Prepass(std::string_view source, std::string_view prelude, int threads)
        : source_{source}, tokens_{tokens_of(source)}, threads_{threads} {
        result_.layouts = {{"1", 0}, {"", 0}};
        replaced_.resize(tokens_.size());
        skipped_.resize(tokens_.size());
        put_before_.resize(tokens_.size());
        result_.text = prelude;
        result_.text += "\n# 1 \"<THREADS>\"\n";
        result_.program_begin = result_.text.size();
        // 64 bits, so that 100000 * THREADS does not overflow during parsing; the emitted code uses THREADS, an int.
        if (threads == 0) result_.text += "enum : long { THREADS = " + std::to_string(any_threads) + " };";
        else if (threads > 0) result_.text += "enum { THREADS = " + std::to_string(threads) + " };";
        threads_begin_ = result_.program_begin;
        result_.program_begin = result_.text.size();
        result_.text += "\n";
    }

    [[nodiscard]] Prepared run() {
        for (at_ = 0; at_ < tokens_.size(); ++at_) token();
        write();
        epilogue();
        return std::move(result_);
    }

private:
    [[nodiscard]] std::string_view word(std::size_t token) const {
        return token < tokens_.size() ? source_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin)
                                      : std::string_view{};
    }
    [[nodiscard]] bool is_sign(std::size_t token, char sign) const {
        return token < tokens_.size() && tokens_[token].kind == TokenKind::sign &&
               source_[tokens_[token].begin] == sign;
    }
    [[nodiscard]] std::size_t next(std::size_t token) const {
        for (++token; token < tokens_.size() && tokens_[token].kind == TokenKind::directive;) ++token;
        return token;
    }
    /// The closing bracket of an opening one; the end where there is none.
    [[nodiscard]] std::size_t closing(std::size_t token) const {
        int depth = 0;
        for (; token < tokens_.size(); ++token) {
            if (is_sign(token, '(') || is_sign(token, '[') || is_sign(token, '{')) ++depth;
            if ((is_sign(token, ')') || is_sign(token, ']') || is_sign(token, '}')) && --depth == 0) return token;
        }
        return token;
    }
    void problem(std::size_t token, std::string text) {
        result_.problems.push_back({tokens_[std::min(token, tokens_.size() - 1)].begin, std::move(text)});
    }
    void replace(std::size_t token, std::string text) {
        replaced_[token] = std::move(text);
        skipped_[token] = true;
    }

    void token() {
        const Token& token = tokens_[at_];
        if (token.kind == TokenKind::directive) return pragma();
        if (token.kind == TokenKind::sign) return bracket();
        if (token.kind != TokenKind::name || token.system) return;
        const std::string_view name = word(at_);
        if (name == "strict" || name == "relaxed" || name == "shared") no_name(name);
        if (name == "shared") return shared();
        if (name == "strict" || name == "relaxed")
            return qualify("__attribute__((btf_type_tag(\"upc " + std::string{name} + "\")))", "");
        if (name == "upc_forall") return forall();
        if (name == "upc_barrier" || name == "upc_notify" || name == "upc_wait" || name == "upc_fence")
            return barrier(std::string{name.substr(4)});
        if (name == "THREADS") return threads();
        if (name == "upc_localsizeof") return size_operator(SizeOperator::local);
        if (name == "upc_blocksizeof") return size_operator(SizeOperator::block);
        if (name == "upc_elemsizeof") return size_operator(SizeOperator::element);
    }

    /// A qualifier must be followed by the rest of a declaration.
    void no_name(std::string_view qualifier) {
        std::size_t behind = next(at_);
        if (qualifier == "shared" && is_sign(behind, '[')) behind = next(closing(behind));
        const std::string_view before = at_ == 0 ? std::string_view{} : word(previous(at_));
        if (is_sign(behind, ';') || is_sign(behind, '=') || before == "struct" || before == "union" || before == "enum")
            problem(at_, std::string{qualifier} + " is a keyword of UPC, and cannot name anything else");
    }

    /// `#pragma upc strict`: applies up to the end of the block, or at file scope up to the next one.
    void pragma() {
        const std::string_view text = word(at_);
        const std::vector<Token> words = tokens_of(text.substr(1));
        const auto name = [&](std::size_t k) {
            return k < words.size() ? text.substr(1 + words[k].begin, words[k].end - words[k].begin)
                                    : std::string_view{};
        };
        if (name(0) != "pragma" || (name(1) != "upc" && name(1) != "pupc" && name(1) != "bupc")) return;
        if (name(1) == "upc" && (name(2) == "strict" || name(2) == "relaxed")) {
            strict_ = name(2) == "strict";
            mode_changes_.emplace_back(at_, strict_);
        }
        replace(at_, "");
    }

    void bracket() {
        if (is_sign(at_, '{')) outer_modes_.push_back(strict_);
        if (is_sign(at_, '}') && !outer_modes_.empty()) {
            strict_ = outer_modes_.back();
            outer_modes_.pop_back();
            mode_changes_.emplace_back(at_, strict_);
        }
        if (is_sign(at_, '[')) ++brackets_;
        if (is_sign(at_, ']') && brackets_ > 0) --brackets_;
        if (is_sign(at_, '{') && outer_modes_.size() == 1)
            in_function_ = at_ > 0 && (is_sign(previous(at_), ')') || old_parameters_);
        if (is_sign(at_, '}') && outer_modes_.empty()) in_function_ = false;
        if (is_sign(at_, '(')) parentheses_.push_back(at_);
        if (is_sign(at_, ')') && !parentheses_.empty()) {
            last_open_ = parentheses_.back();
            parentheses_.pop_back();
            // The names of parameters are followed by their declarations.
            const std::size_t behind = next(at_);
            if (parentheses_.empty() && outer_modes_.empty() && behind < tokens_.size() &&
                tokens_[behind].kind == TokenKind::name && !tokens_[at_].system && !behind_attribute() &&
                !is_attribute(word(behind)))
                old_parameters_ = ends_in_body(behind);
        }
        if (is_sign(at_, '{')) old_parameters_ = false;
    }

    /// Puts an attribute in the place of a qualifier. Behind the members of a structure it would be the structure's:
    /// then in front of that.
    void qualify(const std::string& attribute, const std::string& lines) {
        const std::size_t before = before_qualifiers();
        const std::size_t structure = is_sign(before, '}') ? structure_of(before) : at_;
        if (structure != at_) put_before_[structure] += attribute + " ";
        replace(at_, structure != at_ ? lines : attribute + lines);
    }
    /// The token in front of this qualifier and of those of UPC beside it.
    [[nodiscard]] std::size_t before_qualifiers() const {
        for (std::size_t k = at_; k > 0;) {
            k = previous(k);
            std::size_t qualifier = k;
            if (is_sign(k, ']'))
                while (qualifier > 0 && !is_sign(qualifier, '[')) --qualifier;
            if (qualifier != k) qualifier = previous(qualifier);
            const std::string_view name = word(qualifier);
            if (name != "shared" && name != "strict" && name != "relaxed") return k;
            k = qualifier;
        }
        return 0;
    }
    /// The word struct, union or enum of what ends at a bracket; the token read now where the bracket is another's.
    [[nodiscard]] std::size_t structure_of(std::size_t bracket) const {
        int depth = 0;
        std::size_t k = bracket;
        for (;; k = previous(k)) {
            if (is_sign(k, '}')) ++depth;
            if (is_sign(k, '{') && --depth == 0) break;
            if (k == 0) return at_;
        }
        while (k > 0) {
            k = previous(k);
            if (word(k) == "struct" || word(k) == "union" || word(k) == "enum") return k;
            const bool attribute = is_sign(k, ')') || is_sign(k, '(');
            if (!attribute && tokens_[k].kind != TokenKind::name && tokens_[k].kind != TokenKind::number) return at_;
        }
        return at_;
    }

    void shared() {
        std::size_t number = layout_default;
        const std::size_t open = next(at_);
        std::string lines;
        std::size_t last = at_;
        if (is_sign(open, '[')) {
            last = closing(open);
            if (last >= tokens_.size()) return problem(open, "'[' of a layout qualifier is not closed");
            std::string text;
            for (std::size_t k = open + 1; k < last; ++k) {
                if (tokens_[k].kind == TokenKind::directive) continue;
                const bool apart = !text.empty() && tokens_[k - 1].end != tokens_[k].begin;
                text.append(apart ? " " : "").append(word(k));
            }
            const std::string_view whole = source_.substr(tokens_[at_].begin, tokens_[last].end - tokens_[at_].begin);
            lines.assign(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')), '\n');
            number = layout(text, open + 1);
            for (std::size_t k = at_ + 1; k <= last; ++k) replace(k, "");
        }
        std::string tag = "__attribute__((address_space(1),btf_type_tag(\"upc " + std::to_string(number) + "\")))";
        // In a K&R definition the first attribute would be the function's.
        if (parentheses_.empty() && at_ > 0 && is_sign(previous(at_), ')') && !behind_attribute())
            tag.insert(0, "register ");
        qualify(tag, lines);
        if (old_parameters_) old_array_parameters(last);
        else array_parameter(last);
        at_ = last;
    }
    /// In a K&R definition: `int f(a) shared int a[10];`.
    void old_array_parameters(std::size_t qualifier) {
        int depth = 0;
        for (std::size_t k = next(qualifier); k < tokens_.size() && !(depth == 0 && is_sign(k, ';')); k = next(k)) {
            if (is_sign(k, '(') || is_sign(k, '{')) ++depth;
            if (is_sign(k, ')') || is_sign(k, '}')) --depth;
            const std::size_t name = previous(k);
            if (depth != 0 || !is_sign(k, '[') || tokens_[name].kind != TokenKind::name) continue;
            const std::size_t end = closing(k);
            for (std::size_t inside = k; inside <= end && inside < tokens_.size(); ++inside)
                if (tokens_[inside].kind != TokenKind::directive) replace(inside, "");
            replace(name, "(*" + std::string{word(name)} + ")");
            k = end;
        }
    }
    /// Whether the tokens from here on are declarations before the body of a function.
    [[nodiscard]] bool ends_in_body(std::size_t token) const {
        for (; token < tokens_.size(); token = next(token)) {
            if (is_sign(token, '=') || is_sign(token, '}')) return false;
            if (is_sign(token, '{')) return is_sign(previous(token), ';');
        }
        return false;
    }
    [[nodiscard]] static bool is_attribute(std::string_view word) {
        return word == "__attribute__" || word == "__attribute" || word == "_Alignas" || word == "__asm__" ||
               word == "__asm" || word == "asm" || word == "__declspec" || word == "typeof" || word == "__typeof__" ||
               word == "__typeof" || word == "_Atomic";
    }
    [[nodiscard]] bool behind_attribute() const { return is_attribute(word(previous(last_open_))); }
    [[nodiscard]] std::size_t previous(std::size_t token) const {
        while (token > 0 && tokens_[--token].kind == TokenKind::directive) {
        }
        return token;
    }
    std::size_t layout(const std::string& text, std::size_t token) {
        if (text.empty()) return layout_indefinite;
        if (text == "1") return layout_default;
        // Names in functions are known only there.
        const std::size_t start = in_function_ && names_something(text) ? declaration_start() : tokens_.size();
        const bool in_place = start < tokens_.size();
        if (text != "*" && !in_place) // each [*] is distinct: it depends on the declaration
            for (std::size_t k = 2; k < result_.layouts.size(); ++k)
                if (result_.layouts[k].text == text && !result_.layouts[k].in_place) return k;
        result_.layouts.push_back({text, tokens_[token].begin, in_place});
        const std::size_t number = result_.layouts.size() - 1;
        if (in_place)
            put_before_[start] += "enum { lapwing_upcc_layout_" + std::to_string(number) + " = (" + text + ") }; ";
        return number;
    }
    [[nodiscard]] static bool names_something(const std::string& text) {
        for (const Token& token : tokens_of(text))
            if (token.kind == TokenKind::name && text.substr(token.begin, token.end - token.begin) != "sizeof")
                return true;
        return false;
    }
    /// The start of the static or extern declaration in a function that contains the token; else the end.
    [[nodiscard]] std::size_t declaration_start() const {
        if (!parentheses_.empty()) return tokens_.size();
        std::size_t first = at_;
        for (std::size_t k = at_; k-- > 0 && !is_sign(k, ';') && !is_sign(k, '{') && !is_sign(k, '}');)
            if (tokens_[k].kind != TokenKind::directive) first = k;
        return word(first) == "static" || word(first) == "extern" || word(first) == "typedef" ? first : tokens_.size();
    }

    /// `f(shared int a[10])` is a pointer, and must be written as one: Clang allows no parameters in an address space.
    void array_parameter(std::size_t qualifier) {
        static const std::set<std::string_view> types{"char",   "short",    "int",  "long",  "float", "double",
                                                      "signed", "unsigned", "void", "_Bool", "const", "volatile"};
        if (parentheses_.empty()) return;
        const std::string_view before = word(previous(parentheses_.back()));
        if (before == "sizeof" || before == "typeof" || before == "__typeof__" || before.starts_with("upc_")) return;
        std::size_t words = 0; // of the type and the name; a word before the qualifier is one of the type
        for (std::size_t k = previous(qualifier); k > parentheses_.back() && tokens_[k].kind == TokenKind::name;
             k = previous(k))
            if (word(k) != "shared" && word(k) != "const") ++words;
        std::size_t k = next(qualifier);
        for (; k < tokens_.size() && tokens_[k].kind == TokenKind::name; k = next(k)) ++words;
        if (!is_sign(k, '[')) return;
        const std::size_t end = closing(k);
        std::size_t behind = end;
        while (is_sign(next(behind), '[')) behind = closing(next(behind));
        if (!is_sign(next(behind), ',') && !is_sign(next(behind), ')')) return;
        const std::size_t name = previous(k);
        const bool unnamed = words < 2 || types.contains(word(name));
        if (unnamed && words == 0) return;
        for (std::size_t inside = k; inside <= end; ++inside)
            if (tokens_[inside].kind != TokenKind::directive) replace(inside, "");
        if (unnamed) replaced_[k] = "(*)";
        else replace(name, "(*" + std::string{word(name)} + ")");
    }

    void forall() {
        const std::size_t open = next(at_);
        if (!is_sign(open, '(')) return problem(open, "expected '(' after upc_forall");
        const std::size_t close = closing(open);
        std::vector<std::size_t> ends;
        int depth = 0;
        for (std::size_t k = open; k < close; ++k) {
            if (is_sign(k, '(') || is_sign(k, '[') || is_sign(k, '{')) ++depth;
            if (is_sign(k, ')') || is_sign(k, ']') || is_sign(k, '}')) --depth;
            if (is_sign(k, ';') && depth == 1) ends.push_back(k);
        }
        if (close >= tokens_.size() || ends.size() != 3)
            return problem(at_, "upc_forall takes four expressions: upc_forall (start; condition; step; affinity)");
        replace(at_, "for");
        const bool has_step = next(ends[1]) != ends[2];
        const std::size_t first = next(ends[2]);
        const std::string marker = std::string{has_step ? "," : ""} + "(lapwing_upcc_affinity";
        if (first == close) {
            replace(ends[2], marker + ")");
        } else if (word(first) == "continue" && next(first) == close) {
            replace(ends[2], marker + ")");
            replace(first, "");
        } else {
            replace(ends[2], marker + ",(");
            put_before_[close] += "))";
        }
    }

    void barrier(const std::string& kind) {
        const std::size_t before = at_ == 0 ? at_ : previous(at_);
        if (tokens_[before].kind == TokenKind::sign
                ? std::string_view{"=(,+-*/<>&|!?[.~^%"}.find(source_[tokens_[before].begin]) != std::string_view::npos
                : word(before) == "return")
            return problem(at_, "upc_" + kind + " is a statement, and has no value");
        std::size_t end = next(at_);
        int depth = 0;
        for (; end < tokens_.size() && !(depth == 0 && is_sign(end, ';')); ++end) {
            if (is_sign(end, '(') || is_sign(end, '[') || is_sign(end, '{')) ++depth;
            if ((is_sign(end, ')') || is_sign(end, ']') || is_sign(end, '}')) && --depth < 0) break;
        }
        if (!is_sign(end, ';')) return problem(at_, "expected ';' after upc_" + kind);
        const bool named = next(at_) != end;
        if (named && kind == "fence") return problem(next(at_), "upc_fence takes no expression");
        replace(at_, "lapwing_upcc_" + kind + (named ? "1(" : "0("));
        put_before_[end] += ")";
    }

    /// With any number of threads THREADS is no constant, and arrays in functions have variable lengths: in a bracket
    /// there it is a variable during parsing too, so that `int a[N / THREADS - 1]` has no negative length.
    void threads() {
        if (threads_ != 0 || !in_function_ || brackets_ == 0) return;
        for (std::size_t k = at_; k-- > 0;) {
            if (is_sign(k, ';') || is_sign(k, '{') || is_sign(k, '}')) break;
            const std::string_view before = word(k);
            if (before == "shared" || before == "static" || before == "extern" || before == "typedef") return;
        }
        replace(at_, "lapwing_upcc_threads");
    }

    void size_operator(SizeOperator kind) {
        size_operators_.emplace(at_, kind);
        replace(at_, "sizeof ");
    }

    void write() {
        std::size_t done = 0; // of the source
        const auto up_to = [&](std::size_t end) {
            if (end <= done) return;
            result_.segments_.emplace_back(result_.text.size(), done);
            result_.text += source_.substr(done, end - done);
            done = end;
        };
        auto change = mode_changes_.begin();
        for (std::size_t k = 0; k < tokens_.size(); ++k) {
            for (; change != mode_changes_.end() && change->first == k; ++change) {
                up_to(tokens_[k].begin);
                result_.strict_from_[result_.text.size()] = change->second;
            }
            if (!skipped_[k] && put_before_[k].empty()) continue;
            up_to(tokens_[k].begin);
            result_.segments_.emplace_back(result_.text.size(), done);
            if (const auto found = size_operators_.find(k); found != size_operators_.end())
                result_.size_operators.emplace(result_.text.size(), found->second);
            result_.text += put_before_[k];
            if (!skipped_[k]) continue;
            result_.text += replaced_[k];
            done = tokens_[k].end;
        }
        up_to(source_.size());
    }

    void epilogue() {
        result_.text += '\n';
        result_.program_end = result_.text.size();
        result_.segments_.emplace_back(result_.program_end, source_.size());
        for (std::size_t k = 2; k < result_.layouts.size(); ++k) {
            const LayoutText& layout = result_.layouts[k];
            if (layout.text == "*" || layout.in_place) continue;
            result_.text += "enum { lapwing_upcc_layout_" + std::to_string(k) + " = ";
            result_.segments_.emplace_back(result_.text.size(), layout.source);
            result_.text += "(" + layout.text + ")";
            result_.segments_.emplace_back(result_.text.size(), layout.source);
            result_.text += " };\n";
        }
    }

    std::string_view source_;
    std::vector<Token> tokens_;
    Prepared result_;
    std::size_t at_ = 0;
    std::size_t threads_begin_ = 0;
    // By token.
    std::vector<std::string> replaced_;
    std::vector<bool> skipped_;
    std::vector<std::string> put_before_;
    std::map<std::size_t, SizeOperator> size_operators_;
    std::vector<std::pair<std::size_t, bool>> mode_changes_;

    bool strict_ = false;
    std::vector<bool> outer_modes_;
    int threads_ = 0;
    int brackets_ = 0;                     ///< open square brackets
    bool in_function_ = false;             ///< in a function's body
    bool old_parameters_ = false;          ///< in the declarations of a K&R definition's parameters
    std::vector<std::size_t> parentheses_; ///< open ones
    std::size_t last_open_ = 0;            ///< of the last that was closed
};

Prepared prepare(std::string_view preprocessed, std::string_view prelude, int threads) {
    return Prepass{preprocessed, prelude, threads}.run();
}

bool names_extensions(std::string_view preprocessed) {
    if (preprocessed.find("bupc_") == preprocessed.npos && preprocessed.find("BUPC_") == preprocessed.npos)
        return false;
    bool named = false;
    for (const Token& token : tokens_of(preprocessed)) {
        const std::string_view text = preprocessed.substr(token.begin, token.end - token.begin);
        LineMarker marker;
        if (token.kind == TokenKind::directive && read_line_marker(text, marker) &&
            marker.file.ends_with("/bupc_extensions.h"))
            return false;
        named = named || (token.kind == TokenKind::name && (text.starts_with("bupc_") || text.starts_with("BUPC_")));
    }
    return named;
}

bool is_upc(std::string_view preprocessed) {
    static const std::set<std::string_view> words{"upc_forall", "upc_barrier",     "upc_notify",      "upc_wait",
                                                  "upc_fence",  "upc_localsizeof", "upc_blocksizeof", "upc_elemsizeof",
                                                  "MYTHREAD",   "upc_lock_t"};
    static const std::set<std::string_view> headers{"upc.h", "upc_relaxed.h", "upc_strict.h", "upc_collective.h"};
    for (const Token& token : tokens_of(preprocessed)) {
        const std::string_view text = preprocessed.substr(token.begin, token.end - token.begin);
        if (token.kind == TokenKind::name && !token.system && words.contains(text)) return true;
        LineMarker marker;
        if (token.kind == TokenKind::directive && read_line_marker(text, marker) &&
            headers.contains(marker.file.substr(marker.file.rfind('/') + 1)))
            return true;
    }
    return false;
}

} // namespace upcc
