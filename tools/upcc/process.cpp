#include "process.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace upcc {

int run(const std::vector<std::string>& command, const std::string& output) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return 127;
    if (child == 0) {
        if (!output.empty()) {
            const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
            if (file < 0) {
                std::fprintf(stderr, "lapwing-upcc: %s cannot be written: %s\n", output.c_str(), std::strerror(errno));
                _exit(127);
            }
            dup2(file, STDOUT_FILENO);
            close(file);
        }
        execvp(arguments[0], arguments.data());
        std::fprintf(stderr, "lapwing-upcc: %s cannot be started: %s\n", arguments[0], std::strerror(errno));
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string in_one_line(const std::vector<std::string>& command) {
    std::string out;
    for (const std::string& argument : command) {
        const bool plain = !argument.empty() && argument.find_first_of(" \t\n\"'\\$`*?;&|<>()#") == argument.npos;
        out += out.empty() ? "" : " ";
        if (plain) out += argument;
        else {
            out += '\'';
            for (const char c : argument) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
            out += '\'';
        }
    }
    return out;
}

std::string find_program(const std::string& name) {
    if (name.find('/') != name.npos) return access(name.c_str(), X_OK) == 0 ? name : std::string{};
    const char* const path = std::getenv("PATH");
    std::istringstream directories{path == nullptr ? "" : path};
    for (std::string file; std::getline(directories, file, ':');) {
        file.append("/").append(name);
        if (access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

} // namespace upcc
