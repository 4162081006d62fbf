// The families of pre-tokenizing patterns that native code knows, in the order of their numbers in Python.
#pragma once

#include <array>
#include <cstdint>

namespace tokcli {

// engine/tiktoken says which pattern of known_patterns.py belongs to which family.
enum class Family : uint8_t {
  kR50k, kCl100k, kLlama3, kQwen2, kO200k, kTekken, kQwen35, kStarCoder, kDeepSeek, kFalcon, kDefault, kGpt4o, kGranite,
  kLlamaTekken, kCoder, kLlamaCoder, kBloom
};
constexpr int kFamilies = 17;
constexpr std::array<const char*, kFamilies> kFamilyNames{
    "r50k",    "cl100k", "llama3",  "qwen2",        "o200k", "tekken",      "qwen35", "starcoder", "deepseek", "falcon",
    "default", "gpt4o",  "granite", "llama_tekken", "coder", "llama_coder", "bloom"};

}  // namespace tokcli
