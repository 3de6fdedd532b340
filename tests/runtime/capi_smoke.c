/* Runs a model of two inputs and one output, 64 floats each: z = (x + y) or what the bundle says. Prints the sum of z.
 * Usage: capi_smoke BUNDLE THREADS. Exit code: the status of the first call that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "temper/runtime.h"

int main(int argc, char** argv) {
  temper_error error = {TEMPER_OK, ""};
  temper_tensor_info info;
  float x[64], y[64], z[64];
  const void* inputs[2] = {x, y};
  void* outputs[1] = {z};
  double sum = 0;
  temper_model* model;
  if (argc != 3) return 99;
  model = temper_model_load(argv[1], atoi(argv[2]), &error);
  if (model == NULL) {
    printf("%s\n", error.message);
    return strcmp(error.message, temper_last_error()) == 0 ? (int)error.status : 98;
  }
  if (temper_model_input_count(model) != 2 || temper_model_output_count(model) != 1) return 97;
  if (temper_model_input(model, 1, &info) != TEMPER_OK || strcmp(info.name, "y") != 0 ||
      info.type != TEMPER_ELEMENT_F32 || info.rank != 2 || info.shape[0] != 8 || info.shape[1] != 8 ||
      info.bytes != 256) {
    return 96;
  }
  if (temper_model_output(model, 1, &info) != TEMPER_INVALID_ARGUMENT) return 95;
  if (temper_model_input_count(NULL) != 0 || temper_model_output_count(NULL) != 0) return 93;
  if (temper_model_input(NULL, 0, &info) != TEMPER_INVALID_ARGUMENT) return 92;
  if (temper_model_run(model, NULL, 2, outputs, 1, &error) != TEMPER_INVALID_ARGUMENT) return 91;
  if (temper_model_run(model, inputs, 2, NULL, 1, &error) != TEMPER_INVALID_ARGUMENT) return 90;
  if (temper_model_load(argv[1], 99999, &error) != NULL || error.status != TEMPER_INVALID_ARGUMENT) return 89;
  for (int i = 0; i < 64; ++i) {
    x[i] = (float)i;
    y[i] = 0.5f;
  }
  if (temper_model_run(model, inputs, 1, outputs, 1, &error) != TEMPER_INVALID_ARGUMENT) return 94;
  if (temper_model_run(model, inputs, 2, outputs, 1, &error) != TEMPER_OK) return (int)error.status;
  for (int i = 0; i < 64; ++i) sum += z[i];
  printf("%g\n", sum);
  temper_model_free(model);
  return 0;
}
