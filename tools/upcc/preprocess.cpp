#include "preprocess.hpp"

#include "clang.hpp"

#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/Utils.h>

using namespace clang;

namespace upcc {

bool preprocess(const std::vector<std::string>& command, const std::string& to) {
    std::vector<const char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(word.c_str());
    words.push_back("-Qunused-arguments"); // such as the -fsyntax-only of createInvocation
    CompilerInstance compiler;
    CreateInvocationOptions options;
    options.Diags = CompilerInstance::createDiagnostics(new DiagnosticOptions);
    std::shared_ptr<CompilerInvocation> invocation = createInvocation(words, options);
    if (invocation == nullptr || options.Diags->hasErrorOccurred()) return false;
    invocation->getFrontendOpts().OutputFile = to;
    invocation->getFrontendOpts().DisableFree = false; // more sources may follow
    compiler.setInvocation(std::move(invocation));
    compiler.createDiagnostics();
    PrintPreprocessedAction action;
    return compiler.ExecuteAction(action) && !compiler.getDiagnostics().hasErrorOccurred();
}

} // namespace upcc
