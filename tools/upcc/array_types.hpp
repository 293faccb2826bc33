#pragma once

#include "rewrites.hpp"
#include "token_list.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace upcc {

/// Arrays in declarations with `shared`, where Clang's address spaces differ from it: parameters are written as the
/// pointers that they are, since Clang allows none in an address space; and with a type name for private arrays the
/// qualifier is put at their elements, whose rows would lose its layout elsewhere.
class ArrayTypes {
public:
    ArrayTypes(const TokenList& tokens, Rewrites& rewrites) : tokens_{tokens}, rewrites_{rewrites} {}

    /// The names that a typedef gives to types of arrays. Those of shared ones count at file scope alone.
    void note(std::size_t definition, bool at_file_scope);
    /// Whether it is a name of a type of shared arrays.
    [[nodiscard]] bool is_shared(std::string_view name) const { return shared_.contains(name); }
    /// `f(vector v)`, whose parentheses these are: a pointer to the elements.
    void parameter_of_shared_type(std::size_t type, std::size_t parentheses);

    /// A qualifier of UPC in a declaration.
    struct SharedQualifier {
        std::size_t first;      ///< the word `shared`
        std::size_t last;       ///< the end of its brackets
        std::size_t in_front;   ///< the token in front of it and of the qualifiers beside it
        const std::string& tag; ///< what it becomes
    };
    /// Puts the qualifier at the elements of a type of private arrays; whether the declaration has one.
    [[nodiscard]] bool qualify_elements(const SharedQualifier& qualifier);
    /// `f(shared int a[10])`, and `f(shared row r)` of a type of private arrays, whose parentheses these are.
    void parameter(const SharedQualifier& qualifier, std::size_t parentheses);
    /// In a K&R definition: `int f(a) shared int a[10];`.
    void old_parameters(const SharedQualifier& qualifier);

private:
    [[nodiscard]] std::size_t private_type(const SharedQualifier& qualifier) const;
    [[nodiscard]] std::string rows(std::size_t type, std::size_t without, const std::string& tag) const;
    void parameter_of_private_type(const SharedQualifier& qualifier, std::size_t end);
    void erase(std::size_t first, std::size_t last);

    const TokenList& tokens_;
    Rewrites& rewrites_;
    std::set<std::string_view> shared_;               ///< names of types of shared arrays
    std::map<std::string_view, std::size_t> private_; ///< and of private ones, with their dimensions
};

} // namespace upcc
