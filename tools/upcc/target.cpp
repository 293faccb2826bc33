// The processor that the program is for, with the pointers-to-shared of Lapwing, which have 16 bytes.
#include "target.hpp"

#include "clang.hpp"

#include <utility>

using namespace clang;

namespace upcc {

namespace {

/// Members that other targets keep for themselves.
struct Protected : TargetInfo {
    static constexpr auto names = &Protected::getGCCRegNames;
    static constexpr auto aliases = &Protected::getGCCRegAliases;
    static constexpr auto more_names = &Protected::getGCCAddlRegNames;
};

/// A copy of a target, which asks the original for what that knows by functions.
class Target final : public TargetInfo {
public:
    explicit Target(TargetInfo& real) : TargetInfo{real}, real_{&real} {
        static_cast<TransferrableTargetInfo&>(*this) = real; // a virtual base with some versions of Clang
    }

    void getTargetDefines(const LangOptions& options, MacroBuilder& builder) const override {
        real_->getTargetDefines(options, builder);
    }
    // A vector of shards from Clang 20 on.
    decltype(std::declval<const TargetInfo&>().getTargetBuiltins()) getTargetBuiltins() const override {
        return real_->getTargetBuiltins();
    }
    BuiltinVaListKind getBuiltinVaListKind() const override { return real_->getBuiltinVaListKind(); }
    bool validateAsmConstraint(const char*& name, ConstraintInfo& info) const override {
        return real_->validateAsmConstraint(name, info);
    }
    bool validateOutputSize(const llvm::StringMap<bool>& features, StringRef constraint, unsigned size) const override {
        return real_->validateOutputSize(features, constraint, size);
    }
    bool validateInputSize(const llvm::StringMap<bool>& features, StringRef constraint, unsigned size) const override {
        return real_->validateInputSize(features, constraint, size);
    }
    bool validateGlobalRegisterVariable(StringRef name, unsigned size, bool& mismatch) const override {
        return real_->validateGlobalRegisterVariable(name, size, mismatch);
    }
    std::string convertConstraint(const char*& constraint) const override {
        return real_->convertConstraint(constraint);
    }
    StringRef getConstraintRegister(StringRef constraint, StringRef expression) const override {
        return real_->getConstraintRegister(constraint, expression);
    }
    // A std::string_view from Clang 19 on.
    decltype(std::declval<const TargetInfo&>().getClobbers()) getClobbers() const override {
        return real_->getClobbers();
    }
    bool isSPRegName(StringRef name) const override { return real_->isSPRegName(name); }
    bool hasInt128Type() const override { return real_->hasInt128Type(); }
    bool hasBitIntType() const override { return real_->hasBitIntType(); }
    bool hasFeature(StringRef feature) const override { return real_->hasFeature(feature); }
    bool isValidFeatureName(StringRef name) const override { return real_->isValidFeatureName(name); }
    bool isValidCPUName(StringRef name) const override { return real_->isValidCPUName(name); }
    bool isValidTuneCPUName(StringRef name) const override { return real_->isValidTuneCPUName(name); }
    bool supportsTargetAttributeTune() const override { return real_->supportsTargetAttributeTune(); }
    bool validateCpuSupports(StringRef name) const override { return real_->validateCpuSupports(name); }
    bool validateCpuIs(StringRef name) const override { return real_->validateCpuIs(name); }
    ParsedTargetAttr parseTargetAttr(StringRef text) const override { return real_->parseTargetAttr(text); }
    bool initFeatureMap(llvm::StringMap<bool>& features, DiagnosticsEngine& diagnostics, StringRef cpu,
                        const std::vector<std::string>& more) const override {
        return real_->initFeatureMap(features, diagnostics, cpu, more);
    }
    void setFeatureEnabled(llvm::StringMap<bool>& features, StringRef name, bool on) const override {
        real_->setFeatureEnabled(features, name, on);
    }
    StringRef getABI() const override { return real_->getABI(); }
    bool hasBuiltinAtomic(uint64_t size, uint64_t alignment) const override {
        return real_->hasBuiltinAtomic(size, alignment);
    }
    CallingConvCheckResult checkCallingConvention(CallingConv convention) const override {
        return real_->checkCallingConvention(convention);
    }
    LangOptions::FPEvalMethodKind getFPEvalMethod() const override { return real_->getFPEvalMethod(); }
    bool hasSjLjLowering() const override { return real_->hasSjLjLowering(); }
    uint64_t getMaxPointerWidth() const override { return pointer_bits; }

private:
    static constexpr uint64_t pointer_bits = 128; // of lapwing_upc_pointer

    uint64_t getPointerWidthV(LangAS space) const override {
        return isTargetAddressSpace(space) ? pointer_bits : getPointerWidth(LangAS::Default);
    }
    uint64_t getPointerAlignV(LangAS) const override { return getPointerAlign(LangAS::Default); }
    ArrayRef<const char*> getGCCRegNames() const override { return ((*real_).*Protected::names)(); }
    ArrayRef<GCCRegAlias> getGCCRegAliases() const override { return ((*real_).*Protected::aliases)(); }
    ArrayRef<AddlRegName> getGCCAddlRegNames() const override { return ((*real_).*Protected::more_names)(); }

    IntrusiveRefCntPtr<TargetInfo> real_;
};

} // namespace

void set_size_of_pointers(CompilerInstance& compiler) { compiler.setTarget(new Target{compiler.getTarget()}); }

} // namespace upcc
