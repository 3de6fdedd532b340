// The pretrained cost model that ships with Temper.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "temper/cost/pretrained.h"
#include "temper/target/cpu.h"

namespace temper::tune {

/// Why no model is used, or which one.
struct ChosenModel {
  std::shared_ptr<const cost::PretrainedModel> model;  ///< null: none
  std::string note;                                    ///< for people: the file, or why there is none
};

/// The shipped model: in `share/temper/models` beside the folder of the running program, or beside `programs` when
/// that is not empty. None where there is no such file, or its vectors are not those of `target`: its times say little
/// about code of another width. Throws what `PretrainedModel::load` throws for a file that is there.
ChosenModel default_model(const target::Target& target, const std::filesystem::path& programs = {});

/// "auto": `default_model`; "none": none; else a file, whatever target it was trained on. Throws as `load`.
ChosenModel choose_model(const std::string& name, const target::Target& target,
                         const std::filesystem::path& programs = {});

}  // namespace temper::tune
