#pragma once

namespace clang {
class CompilerInstance;
}

namespace upcc {

/// Makes pointers-to-shared as large in the parse as they are in the program: constants of sizes are right.
void set_size_of_pointers(clang::CompilerInstance& compiler);

} // namespace upcc
