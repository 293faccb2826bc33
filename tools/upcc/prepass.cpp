#include "prepass.hpp"

#include "array_types.hpp"
#include "main_function.hpp"
#include "nested_functions.hpp"
#include "rewrites.hpp"
#include "token_list.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

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
    Prepass(std::string_view source, const Parse& parse)
        : source_{source},
          tokens_{source},
          sizes_{parse.sizes},
          finds_sizes_{parse.finds_sizes},
          lost_sizes_{parse.lost_sizes},
          threads_{parse.threads} {
        result_.layouts = {{"1"}, {""}, {"1"}};
        result_.threads = threads_;
        result_.any_threads = parse.any_threads;
        result_.text = parse.prelude;
        result_.text += "\n# 1 \"<THREADS>\"\n";
        // 64 bits, so that 100000 * THREADS does not overflow during parsing; the emitted code uses THREADS, an int.
        if (threads_ == 0) result_.text += "enum : long { THREADS = " + std::to_string(parse.any_threads) + " };";
        else if (threads_ > 0) result_.text += "enum { THREADS = " + std::to_string(threads_) + " };";
        result_.program_begin = result_.text.size();
        result_.text += "\n" + declarations_missed(tokens_);
    }

    [[nodiscard]] Prepared run() {
        for (at_ = 0; at_ < tokens_.size(); ++at_) token();
        rewrite_nested_functions(tokens_, rewrites_);
        for (const auto& [first, last] : types_redefined(tokens_))
            for (std::size_t k = first; k <= last; ++k) replace(k, "");
        if (const auto odd = odd_main(tokens_)) {
            for (const std::size_t name : odd->names) replace(name, odd_main_name);
            if (odd->returns) rewrites_.before(odd->end) += "return 0; ";
            rewrites_.before(tokens_.size()) += "\n" + caller_of(*odd);
        }
        write();
        epilogue();
        return std::move(result_);
    }

private:
    void problem(std::size_t token, std::string text) {
        result_.problems.push_back({tokens_[std::min(token, tokens_.size() - 1)].begin, std::move(text)});
    }
    void replace(std::size_t token, std::string text) { rewrites_.replace(token, std::move(text)); }

    void token() {
        const Token& token = tokens_[at_];
        if (token.kind == TokenKind::directive) return pragma();
        if (token.kind == TokenKind::sign) return bracket();
        if (token.kind != TokenKind::name || token.system) return;
        const std::string_view name = tokens_.word(at_);
        if (name == "strict" || name == "relaxed" || name == "shared") no_name(name);
        if (name == "shared") return shared();
        if (name == "strict" || name == "relaxed")
            return qualify(std::string{opens_old_parameters() ? "register " : ""} +
                               "__attribute__((btf_type_tag(\"upc " + std::string{name} + "\")))",
                           "");
        if (name == "upc_forall") return forall();
        if (name == "upc_barrier" || name == "upc_notify" || name == "upc_wait" || name == "upc_fence")
            return barrier(std::string{name.substr(4)});
        if (name == "THREADS") return threads();
        if (name == "MYTHREAD" && of_type_of()) return replace(at_, "(int)MYTHREAD");
        if (const auto kind = size_operator_named(name)) return size_operator(*kind);
        if (name == "typedef") return array_types_.note(at_, outer_modes_.empty());
        if (array_types_.is_shared(name) && outer_modes_.empty() && !parentheses_.empty() && brackets_.empty())
            array_types_.parameter_of_shared_type(at_, parentheses_.back());
    }

    /// A qualifier must be followed by the rest of a declaration.
    void no_name(std::string_view qualifier) {
        std::size_t after = tokens_.next(at_);
        if (qualifier == "shared" && tokens_.is_sign(after, '[')) after = tokens_.next(tokens_.closing(after));
        const std::string_view before = at_ == 0 ? std::string_view{} : tokens_.word(tokens_.previous(at_));
        if (tokens_.is_sign(after, ';') || tokens_.is_sign(after, '=') || before == "struct" || before == "union" ||
            before == "enum")
            problem(at_, std::string{qualifier} + " is a keyword of UPC, and cannot name anything else");
    }

    /// `#pragma upc strict`: applies up to the end of the block, or at file scope up to the next one.
    void pragma() {
        const std::string_view text = tokens_.word(at_);
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
        if (tokens_.is_sign(at_, '{')) outer_modes_.push_back(strict_);
        if (tokens_.is_sign(at_, '}') && !outer_modes_.empty()) {
            strict_ = outer_modes_.back();
            outer_modes_.pop_back();
            mode_changes_.emplace_back(at_, strict_);
        }
        if (tokens_.is_sign(at_, '[')) brackets_.push_back(at_);
        if (tokens_.is_sign(at_, ']') && !brackets_.empty()) brackets_.pop_back();
        if (tokens_.is_sign(at_, '{') && outer_modes_.size() == 1)
            in_function_ = at_ > 0 && (tokens_.is_sign(tokens_.previous(at_), ')') || old_parameters_);
        if (tokens_.is_sign(at_, '}') && outer_modes_.empty()) in_function_ = false;
        // Statements in an expression are in no parentheses.
        if (tokens_.is_sign(at_, '{')) outer_parentheses_.push_back(std::exchange(parentheses_, {}));
        if (tokens_.is_sign(at_, '}') && !outer_parentheses_.empty()) {
            parentheses_ = std::move(outer_parentheses_.back());
            outer_parentheses_.pop_back();
        }
        if (tokens_.is_sign(at_, '(')) parentheses_.push_back(at_);
        if (tokens_.is_sign(at_, ')') && !parentheses_.empty()) {
            last_open_ = parentheses_.back();
            parentheses_.pop_back();
            // The names of parameters are followed by their declarations.
            const std::size_t after = tokens_.next(at_);
            if (parentheses_.empty() && outer_modes_.empty() && after < tokens_.size() &&
                tokens_[after].kind == TokenKind::name && !tokens_[at_].system && !after_attribute() &&
                !is_attribute(tokens_.word(after)))
                old_parameters_ = ends_in_body(after);
        }
        if (tokens_.is_sign(at_, '{')) old_parameters_ = false;
    }

    /// Replaces a qualifier by an attribute. After the members of a structure it would apply to the structure: there it
    /// is put in front of that.
    void qualify(const std::string& attribute, const std::string& lines) {
        std::size_t before = before_qualifiers();
        while (tokens_.is_sign(before, ')') && is_attribute(tokens_.word(tokens_.previous(tokens_.opening(before)))))
            before = tokens_.previous(tokens_.previous(tokens_.opening(before)));
        const std::size_t structure = tokens_.is_sign(before, '}') ? structure_of(before) : at_;
        if (structure != at_) rewrites_.before(structure) += attribute + " ";
        replace(at_, structure != at_ ? lines : attribute + lines);
    }
    /// The token in front of this qualifier and of those of UPC beside it.
    [[nodiscard]] std::size_t before_qualifiers() const {
        for (std::size_t k = at_; k > 0;) {
            k = tokens_.previous(k);
            std::size_t qualifier = k;
            if (tokens_.is_sign(k, ']'))
                while (qualifier > 0 && !tokens_.is_sign(qualifier, '[')) --qualifier;
            if (qualifier != k) qualifier = tokens_.previous(qualifier);
            const std::string_view name = tokens_.word(qualifier);
            if (name != "shared" && name != "strict" && name != "relaxed") return k;
            k = qualifier;
        }
        return 0;
    }
    /// The word struct, union or enum of what ends at a bracket; the token read now where the bracket is another's,
    /// such as that of a function's body, whose last parameter may be a structure.
    [[nodiscard]] std::size_t structure_of(std::size_t bracket) const {
        for (std::size_t k = tokens_.opening(bracket); k > 0;) {
            k = tokens_.previous(k);
            if (tokens_.word(k) == "struct" || tokens_.word(k) == "union" || tokens_.word(k) == "enum") return k;
            if (tokens_.is_sign(k, ')')) {
                k = tokens_.opening(k);
                if (k == 0 || !is_attribute(tokens_.word(tokens_.previous(k)))) return at_;
            } else if (!tokens_.is_name(k)) {
                return at_;
            }
        }
        return at_;
    }

    void shared() {
        std::size_t number = layout_default;
        const std::size_t open = tokens_.next(at_);
        std::string lines;
        std::size_t last = at_;
        if (tokens_.is_sign(open, '[')) {
            last = tokens_.closing(open);
            if (last >= tokens_.size()) return problem(open, "'[' of a layout qualifier is not closed");
            std::string text;
            for (std::size_t k = open + 1; k < last; ++k) {
                if (tokens_[k].kind == TokenKind::directive) continue;
                const bool apart = !text.empty() && tokens_[k - 1].end != tokens_[k].begin;
                text.append(apart ? " " : "").append(tokens_.word(k));
            }
            const std::string_view whole = source_.substr(tokens_[at_].begin, tokens_[last].end - tokens_[at_].begin);
            lines.assign(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')), '\n');
            number = layout(text, open + 1, last);
            for (std::size_t k = at_ + 1; k <= last; ++k)
                if (tokens_[k].kind != TokenKind::directive) replace(k, "");
        }
        // Else a parameter without a name: `int f(int shared [2] [3])`.
        if (const std::size_t again = tokens_.next(last); last != at_ && tokens_.is_sign(again, '['))
            if (const std::size_t after = tokens_.next(tokens_.closing(again));
                tokens_.is_name(after) || tokens_.is_sign(after, '*'))
                return problem(again, "a shared type has one block size, and this is a second one");
        const std::string tag =
            "__attribute__((address_space(1),btf_type_tag(\"upc " + std::to_string(number) + "\")))";
        const std::string front = opens_old_parameters() ? "register " : "";
        const ArrayTypes::SharedQualifier qualifier{at_, last, before_qualifiers(), tag};
        // The layout of an array is that of its elements.
        if (array_types_.qualify_elements(qualifier)) replace(at_, front + lines);
        else qualify(front + tag, lines);
        if (old_parameters_) array_types_.old_parameters(qualifier);
        else if (!parentheses_.empty()) array_types_.parameter(qualifier, parentheses_.back());
        at_ = last;
    }
    /// In a K&R definition the first attribute would be the function's.
    [[nodiscard]] bool opens_old_parameters() const {
        return parentheses_.empty() && at_ > 0 && tokens_.is_sign(tokens_.previous(at_), ')') && !after_attribute();
    }
    /// Whether the tokens from here on are declarations before the body of a function.
    [[nodiscard]] bool ends_in_body(std::size_t token) const {
        for (; token < tokens_.size(); token = tokens_.next(token)) {
            if (tokens_.is_sign(token, '=') || tokens_.is_sign(token, '}')) return false;
            if (tokens_.is_sign(token, '{')) return tokens_.is_sign(tokens_.previous(token), ';');
        }
        return false;
    }
    [[nodiscard]] bool after_attribute() const { return is_attribute(tokens_.word(tokens_.previous(last_open_))); }
    std::size_t layout(const std::string& text, std::size_t first, std::size_t last) {
        if (text.empty()) return layout_indefinite;
        if (text == "1") return layout_one;
        // Names in functions are known only there.
        const std::size_t start =
            in_function_ && names_something(first, last) ? tokens_.statement_of(at_) : tokens_.size();
        const bool in_place = start < tokens_.size();
        if (text != "*" && !in_place) // each [*] is distinct: it depends on the declaration
            for (std::size_t k = layout_one + 1; k < result_.layouts.size(); ++k)
                if (result_.layouts[k].text == text && !result_.layouts[k].in_place) return k;
        result_.layouts.push_back({text, tokens_[first].begin, first, last, in_place});
        const std::size_t number = result_.layouts.size() - 1;
        if (in_place)
            rewrites_.before(start) += "enum { lapwing_upcc_layout_" + std::to_string(number) + " = (" + text + ") }; ";
        return number;
    }
    /// Of size operators the values are known where all of the source is parsed.
    [[nodiscard]] bool names_something(std::size_t first, std::size_t last) const {
        bool found = false;
        for (std::size_t k = first; k < last; ++k) {
            if (tokens_.is_name(k) && size_operator_named(tokens_.word(k))) return false;
            found = found || (tokens_.is_name(k) && tokens_.word(k) != "sizeof");
        }
        return found;
    }
    [[nodiscard]] static std::optional<SizeOperator> size_operator_named(std::string_view name) {
        if (name == "upc_localsizeof") return SizeOperator::local;
        if (name == "upc_blocksizeof") return SizeOperator::block;
        if (name == "upc_elemsizeof") return SizeOperator::element;
        return std::nullopt;
    }

    void forall() {
        const std::size_t open = tokens_.next(at_);
        if (!tokens_.is_sign(open, '(')) return problem(open, "expected '(' after upc_forall");
        const std::size_t close = tokens_.closing(open);
        std::vector<std::size_t> ends;
        int depth = 0;
        for (std::size_t k = open; k < close; ++k) {
            if (tokens_.opens(k)) ++depth;
            if (tokens_.closes(k)) --depth;
            if (tokens_.is_sign(k, ';') && depth == 1) ends.push_back(k);
        }
        if (close >= tokens_.size() || ends.size() != 3)
            return problem(at_, "upc_forall takes four expressions: upc_forall (start; condition; step; affinity)");
        replace(at_, "for");
        const bool has_step = tokens_.next(ends[1]) != ends[2];
        const std::size_t first = tokens_.next(ends[2]);
        const std::string marker = std::string{has_step ? "," : ""} + "(lapwing_upcc_affinity";
        if (first == close) {
            replace(ends[2], marker + ")");
        } else if (tokens_.word(first) == "continue" && tokens_.next(first) == close) {
            replace(ends[2], marker + ")");
            replace(first, "");
        } else {
            replace(ends[2], marker + ",(");
            rewrites_.before(close) += "))";
        }
    }

    void barrier(const std::string& kind) {
        const std::size_t before = at_ == 0 ? at_ : tokens_.previous(at_);
        if (tokens_[before].kind == TokenKind::sign
                ? std::string_view{"=(,+-*/<>&|!?[.~^%"}.find(source_[tokens_[before].begin]) != std::string_view::npos
                : tokens_.word(before) == "return")
            return problem(at_, "upc_" + kind + " is a statement, and has no value");
        std::size_t end = tokens_.next(at_);
        int depth = 0;
        for (; end < tokens_.size() && !(depth == 0 && tokens_.is_sign(end, ';')); ++end) {
            if (tokens_.is_sign(end, '(') || tokens_.is_sign(end, '[') || tokens_.is_sign(end, '{')) ++depth;
            if ((tokens_.is_sign(end, ')') || tokens_.is_sign(end, ']') || tokens_.is_sign(end, '}')) && --depth < 0)
                break;
        }
        if (!tokens_.is_sign(end, ';')) return problem(at_, "expected ';' after upc_" + kind);
        const bool named = tokens_.next(at_) != end;
        if (named && kind == "fence") return problem(tokens_.next(at_), "upc_fence takes no expression");
        replace(at_, "lapwing_upcc_" + kind + (named ? "1(" : "0("));
        rewrites_.before(end) += ")";
    }

    /// Whether the token is the operand of something that tells its type: THREADS and MYTHREAD are values of type int.
    [[nodiscard]] bool of_type_of() const {
        std::size_t before = at_;
        while (before > 0 && tokens_.is_sign(tokens_.previous(before), '(')) before = tokens_.previous(before);
        const std::string_view name = before == at_ ? std::string_view{} : tokens_.word(tokens_.previous(before));
        return name == "_Generic" || name == "typeof" || name == "__typeof__" || name == "__typeof" || name == "sizeof";
    }

    /// With any number of threads THREADS is not a constant, and arrays in functions have variable lengths: in a
    /// bracket there it is a variable during parsing too, so that `int a[N / THREADS - 1]` has no negative length.
    void threads() {
        if (threads_ == 0 && of_type_of()) return replace(at_, "(int)THREADS");
        if (threads_ != 0 || !in_function_ || brackets_.empty()) return;
        // In a list of initial values it is an index.
        const std::size_t of = tokens_.previous(brackets_.back());
        if (tokens_.is_sign(of, '{') || tokens_.is_sign(of, ',')) return;
        if (const std::size_t brace = tokens_.brace_around(at_); !tokens_.opens_block(brace)) return; // of members
        for (std::size_t k = at_; k-- > 0;) {
            if (tokens_.is_sign(k, '}') && tokens_.is_sign(tokens_.next(k), ',')) k = tokens_.opening(k); // a value
            else if (tokens_.is_sign(k, ';') || tokens_.is_sign(k, '}')) break;
            if (tokens_.is_sign(k, '{') && !opens_values(k)) break;
            const std::string_view word = tokens_.word(k);
            if (word == "shared" || word == "static" || word == "extern") return;
        }
        replace(at_, "lapwing_upcc_threads");
    }

    /// Whether the brace begins initial values, or is within some.
    [[nodiscard]] bool opens_values(std::size_t brace) const {
        while (brace > 0 && tokens_.is_sign(brace, '{')) brace = tokens_.previous(brace);
        return tokens_.is_sign(brace, '=') || tokens_.is_sign(brace, ',');
    }

    [[nodiscard]] bool in_enumeration() const {
        std::size_t k = at_;
        while (k > 0 && !tokens_.is_sign(k, ';') && !tokens_.is_sign(k, '{') && !tokens_.is_sign(k, '}')) --k;
        const std::size_t before = tokens_.previous(k);
        return tokens_.word(before) == "enum" || tokens_.word(tokens_.previous(before)) == "enum";
    }

    /// A guess, or a value, may make the length of an array negative, as in `char check[upc_blocksizeof(a) == 4 ? 1 :
    /// -1]`, a bit-field wider than its type, or an alignment no power of two. Clang would drop these expressions, with
    /// the operators in them: so they have other values until the operators' are known.
    void keep_operator() {
        const auto has_value = [&](std::size_t first, std::size_t end, const std::string& value) {
            result_.has_early_sizes = true; // of what has this value
            if (!valued_.insert(first).second) return;
            rewrites_.before(first).insert(0, value + "+0*(");
            rewrites_.before(std::min(end, tokens_.size())) += ")";
        };
        if (const auto [first, end] = tokens_.width_around(at_); first != end) has_value(first, end, "1");
        for (const std::size_t open : parentheses_)
            if (const std::string_view before = tokens_.word(tokens_.previous(open));
                before == "_Alignas" || before == "aligned" || before == "__aligned__")
                has_value(tokens_.next(open), tokens_.closing(open), "8");
        if (!brackets_.empty())
            has_value(tokens_.next(brackets_.front()), tokens_.closing(brackets_.front()),
                      std::to_string(7919 * (at_ + 1)) + "ul");
    }

    /// With its value beside it, where that is known: constant expressions need it.
    void size_operator(SizeOperator kind) {
        size_operators_.emplace(at_, kind);
        if (!brackets_.empty() || !in_function_ || in_enumeration()) result_.has_early_sizes = true;
        const auto known = sizes_.find(tokens_[at_].begin);
        if (known == sizes_.end()) {
            if (!finds_sizes_) return replace(at_, "sizeof ");
            replace(at_, std::to_string(7919 * (at_ + 1)) + "ul+sizeof ");
            return keep_operator();
        }
        if (finds_sizes_ && lost_sizes_.contains(tokens_[at_].begin)) keep_operator();
        const std::size_t after = tokens_.next(tokens_.at_offset(known->second.end));
        replace(at_, "(" + std::to_string(known->second.value) + "ul+0*sizeof ");
        rewrites_.before(std::min(after, tokens_.size())).insert(0, ")");
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
            if (!rewrites_.is_replaced(k) && rewrites_.before(k).empty()) continue;
            up_to(tokens_[k].begin);
            result_.segments_.emplace_back(result_.text.size(), done);
            result_.text += rewrites_.before(k);
            if (!rewrites_.is_replaced(k)) continue;
            const std::string& text = rewrites_.replacement(k);
            if (const auto found = size_operators_.find(k); found != size_operators_.end()) {
                if (text.starts_with('(')) result_.size_brackets.insert(result_.text.size());
                result_.size_operators.emplace(result_.text.size() + text.find("sizeof"),
                                               SizeUse{found->second, tokens_[k].begin});
            }
            result_.text += text;
            done = tokens_[k].end;
        }
        up_to(source_.size());
        result_.segments_.emplace_back(result_.text.size(), source_.size());
        result_.text += rewrites_.before(tokens_.size());
    }

    void epilogue() {
        result_.text += '\n';
        result_.program_end = result_.text.size();
        result_.segments_.emplace_back(result_.program_end, source_.size());
        for (std::size_t k = layout_one + 1; k < result_.layouts.size(); ++k) {
            const LayoutText& layout = result_.layouts[k];
            if (layout.text == "*" || layout.in_place) continue;
            result_.text += "enum { lapwing_upcc_layout_" + std::to_string(k) + " = ";
            result_.segments_.emplace_back(result_.text.size(), tokens_[layout.first].begin);
            result_.text += "(";
            layout_expression(layout);
            result_.segments_.emplace_back(result_.text.size(), tokens_[layout.first].begin);
            result_.text += ") };\n";
        }
    }
    void layout_expression(const LayoutText& layout) {
        for (std::size_t k = layout.first; k < layout.last; ++k) {
            if (tokens_[k].kind == TokenKind::directive) continue;
            result_.segments_.emplace_back(result_.text.size(), tokens_[k].begin);
            const auto kind = tokens_.is_name(k) ? size_operator_named(tokens_.word(k)) : std::nullopt;
            const auto known = sizes_.find(tokens_[k].begin);
            if (kind && known != sizes_.end()) {
                // What it is of counts no more, but for the next parse, which finds the value again.
                result_.size_brackets.insert(result_.text.size());
                result_.text += "(" + std::to_string(known->second.value) + "ul+0*";
                closing_after_.insert(tokens_.at_offset(known->second.end));
            }
            if (kind) result_.has_early_sizes = true;
            if (kind) result_.size_operators.emplace(result_.text.size(), SizeUse{*kind, tokens_[k].begin});
            result_.text += kind ? "sizeof" : std::string{tokens_.word(k)};
            if (closing_after_.erase(k) != 0) result_.text += ")";
            if (k + 1 < layout.last && tokens_[k + 1].begin != tokens_[k].end) result_.text += " ";
        }
    }

    std::string_view source_;
    TokenList tokens_;
    const SizeValues& sizes_;
    bool finds_sizes_;
    const std::set<std::size_t>& lost_sizes_;
    Prepared result_;
    Rewrites rewrites_{tokens_.size()};
    ArrayTypes array_types_{tokens_, rewrites_};
    std::size_t at_ = 0;
    // By token.
    std::map<std::size_t, SizeOperator> size_operators_;
    std::set<std::size_t> valued_;        ///< the first tokens of expressions that have another value than their guess
    std::set<std::size_t> closing_after_; ///< the operands of size operators with their values, in a layout
    std::vector<std::pair<std::size_t, bool>> mode_changes_;

    bool strict_ = false;
    std::vector<bool> outer_modes_;
    int threads_ = 0;
    std::vector<std::size_t> brackets_;                       ///< open square ones
    bool in_function_ = false;                                ///< in a function's body
    bool old_parameters_ = false;                             ///< in the declarations of a K&R definition's parameters
    std::vector<std::size_t> parentheses_;                    ///< open ones
    std::vector<std::vector<std::size_t>> outer_parentheses_; ///< around the blocks
    std::size_t last_open_ = 0;                               ///< of the last that was closed
};

Prepared prepare(std::string_view preprocessed, const Parse& parse) { return Prepass{preprocessed, parse}.run(); }

} // namespace upcc
