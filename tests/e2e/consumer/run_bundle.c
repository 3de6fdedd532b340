/* Runs a bundle once with every input element set to 0.5 and prints each output's name and the sum of its elements.
 * Usage: run_bundle BUNDLE. Takes models whose inputs and outputs are floats. Exit code: the status of the first call
 * that fails. */
#include <stdio.h>
#include <stdlib.h>

#include "temper/runtime.h"

enum { kMost = 16 };

static float* floats(int64_t bytes) {
  float* memory = malloc((size_t)bytes);
  if (memory == NULL) exit(99);
  for (int64_t i = 0; i < bytes / 4; ++i) memory[i] = 0.5f;
  return memory;
}

int main(int argc, char** argv) {
  temper_error error = {TEMPER_OK, ""};
  temper_tensor_info info;
  const void* inputs[kMost];
  void* outputs[kMost];
  temper_model* model;
  int32_t input_count, output_count;
  if (argc != 2) return 98;
  model = temper_model_load(argv[1], 1, &error);
  if (model == NULL) {
    printf("%s\n", error.message);
    return (int)error.status;
  }
  input_count = temper_model_input_count(model);
  output_count = temper_model_output_count(model);
  if (input_count > kMost || output_count > kMost) return 97;
  for (int32_t i = 0; i < input_count; ++i) {
    if (temper_model_input(model, i, &info) != TEMPER_OK || info.type != TEMPER_ELEMENT_F32) return 96;
    inputs[i] = floats(info.bytes);
  }
  for (int32_t i = 0; i < output_count; ++i) {
    if (temper_model_output(model, i, &info) != TEMPER_OK || info.type != TEMPER_ELEMENT_F32) return 95;
    outputs[i] = floats(info.bytes);
  }
  if (temper_model_run(model, inputs, input_count, outputs, output_count, &error) != TEMPER_OK) {
    printf("%s\n", error.message);
    return (int)error.status;
  }
  for (int32_t i = 0; i < output_count; ++i) {
    double sum = 0;
    temper_model_output(model, i, &info);
    for (int64_t e = 0; e < info.bytes / 4; ++e) sum += ((const float*)outputs[i])[e];
    printf("%s %.4f\n", info.name, sum);
    free(outputs[i]);
  }
  for (int32_t i = 0; i < input_count; ++i) free((void*)inputs[i]);
  temper_model_free(model);
  return 0;
}
