#include "temper/cost/mlp_model.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "temper/cost/byte_stream.h"
#include "temper/cost/pairwise_loss.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::cost {
namespace {

using Matrix = Eigen::MatrixXf;
using Vector = Eigen::VectorXf;

constexpr float kFarthest = 6;  ///< standard deviations; what lies beyond was not learned from

/// Parameters of one layer, or their gradients and moments.
struct Layer {
  Matrix weight;  ///< outputs x inputs
  Vector bias;
  Layer zeros() const { return {Matrix::Zero(weight.rows(), weight.cols()), Vector::Zero(bias.size())}; }
};

class Network {
 public:
  Network() = default;
  Network(std::span<const Eigen::Index> widths, RandomStream& random) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      Layer layer{Matrix(widths[i + 1], widths[i]), Vector::Zero(widths[i + 1])};
      const double scale = std::sqrt(2.0 / static_cast<double>(widths[i]));
      for (Eigen::Index c = 0; c < layer.weight.cols(); ++c) {
        for (Eigen::Index r = 0; r < layer.weight.rows(); ++r)
          layer.weight(r, c) = static_cast<float>(scale * random.approximately_normal());
      }
      layers_.push_back(std::move(layer));
    }
  }

  /// A score for each column of `inputs`. With `activations`: the inputs of each layer, for `gradients`.
  Vector scores(const Matrix& inputs, std::vector<Matrix>* activations = nullptr) const {
    Matrix values = inputs;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Matrix next = (layers_[i].weight * values).colwise() + layers_[i].bias;
      if (activations != nullptr) activations->push_back(std::move(values));
      if (i + 1 < layers_.size()) next = next.cwiseMax(0.0F);
      values = std::move(next);
    }
    return values.row(0);
  }

  std::vector<Layer> gradients(const std::vector<Matrix>& activations, const Vector& of_scores) const {
    std::vector<Layer> result(layers_.size());
    Matrix delta = of_scores.transpose();
    for (std::size_t i = layers_.size(); i-- > 0;) {
      result[i] = {delta * activations[i].transpose(), delta.rowwise().sum()};
      if (i == 0) break;
      delta = layers_[i].weight.transpose() * delta;
      delta = (activations[i].array() > 0).select(delta, 0.0F);
    }
    return result;
  }

  std::vector<Layer>& layers() { return layers_; }
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  std::vector<Layer> layers_;
};

class Adam {
 public:
  explicit Adam(const Network& network) {
    for (const Layer& layer : network.layers()) first_.push_back(layer.zeros()), second_.push_back(layer.zeros());
  }

  void step(Network& network, const std::vector<Layer>& gradients, float rate, float decay) {
    ++steps_;
    const float correction = std::sqrt(1 - std::pow(kSecond, static_cast<float>(steps_))) /
                             (1 - std::pow(kFirst, static_cast<float>(steps_)));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      Layer& layer = network.layers()[i];
      layer.weight *= 1 - rate * decay;
      move(layer.weight, gradients[i].weight, first_[i].weight, second_[i].weight, rate * correction);
      move(layer.bias, gradients[i].bias, first_[i].bias, second_[i].bias, rate * correction);
    }
  }

 private:
  static constexpr float kFirst = 0.9F, kSecond = 0.999F;

  template <class Values>
  static void move(Values& values, const Values& gradient, Values& first, Values& second, float rate) {
    first = kFirst * first + (1 - kFirst) * gradient;
    second = kSecond * second + (1 - kSecond) * gradient.cwiseAbs2();
    values.array() -= rate * first.array() / (second.array().sqrt() + 1e-8F);
  }

  std::vector<Layer> first_, second_;
  std::int64_t steps_ = 0;
};

class MlpModel : public CostModel {
 public:
  explicit MlpModel(const CostModelContext& context) : context_(context) {}
  explicit MlpModel(std::string_view bytes) {
    ByteReader reader(bytes);
    read(reader, mean_);
    read(reader, scale_);
    const auto layers = reader.get<std::uint32_t>();
    Eigen::Index inputs = mean_.size();
    for (std::uint32_t i = 0; i < layers; ++i) {
      Layer layer;
      read(reader, layer.bias);
      const std::vector<float> weights = reader.get_all<float>();
      if (static_cast<Eigen::Index>(weights.size()) != layer.bias.size() * inputs) ByteReader::fail();
      layer.weight = Eigen::Map<const Matrix>(weights.data(), layer.bias.size(), inputs);
      inputs = layer.bias.size();
      network_.layers().push_back(std::move(layer));
    }
    if (!reader.at_end() || layers == 0 || inputs != 1 || mean_.size() == 0 || scale_.size() != mean_.size())
      ByteReader::fail();
  }

  void update(const TrainingSet& samples) override {
    check_training_set(samples);
    standardise(samples.features);
    const RandomStream random(context_.seed);
    RandomStream start = random.fork("start"), order = random.fork("order");
    std::vector<Eigen::Index> widths{static_cast<Eigen::Index>(samples.features.columns())};
    for (int layer = 0; layer < integer("layers"); ++layer) widths.push_back(integer("hidden"));
    widths.push_back(1);
    network_ = Network(widths, start);
    Adam adam(network_);

    std::vector<std::vector<std::size_t>> groups = rows_by_group(samples);
    const std::size_t batch = static_cast<std::size_t>(integer("batch"));
    std::vector<std::vector<std::size_t>> batches;
    const int epochs = integer("epochs");
    for (int epoch = 0; epoch < epochs; ++epoch) {
      batches.clear();
      for (std::vector<std::size_t>& rows : groups) {
        order.shuffle(rows);
        for (std::size_t first = 0; first < rows.size(); first += batch) {
          const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
          batches.emplace_back(begin, rows.begin() + static_cast<std::ptrdiff_t>(std::min(first + batch, rows.size())));
        }
      }
      order.shuffle(batches);
      // The rate falls along half a cosine.
      const double done = static_cast<double>(epoch) / epochs;
      const double rate = context_.options.at("rate") * 0.5 * (1 + std::cos(std::numbers::pi * done));
      for (const std::vector<std::size_t>& rows : batches) learn(samples, rows, adam, static_cast<float>(rate));
    }
  }

  bool trained() const override { return !network_.layers().empty(); }

  std::vector<double> predict(const FeatureMatrix& features) const override {
    TEMPER_CHECK(trained(), "a cost model was asked before it learned anything");
    if (features.rows() == 0) return {};
    TEMPER_CHECK(static_cast<Eigen::Index>(features.columns()) == mean_.size(),
                 "a cost model was asked about other features than it learned from");
    constexpr std::size_t kBlock = 256;  // activations of so many rows stay in the second cache
    std::vector<double> result;
    result.reserve(features.rows());
    for (std::size_t first = 0; first < features.rows(); first += kBlock) {
      const std::size_t count = std::min(kBlock, features.rows() - first);
      Matrix inputs(mean_.size(), static_cast<Eigen::Index>(count));
      for (std::size_t i = 0; i < count; ++i) put(features.row(first + i), inputs, static_cast<Eigen::Index>(i));
      for (const float score : network_.scores(inputs)) result.push_back(score);
    }
    return result;
  }

  std::string serialise() const override {
    TEMPER_CHECK(trained(), "a cost model is kept once it has learned something");
    ByteWriter writer;
    write(writer, mean_);
    write(writer, scale_);
    writer.put(static_cast<std::uint32_t>(network_.layers().size()));
    for (const Layer& layer : network_.layers()) {
      write(writer, layer.bias);
      writer.put_all(std::span(layer.weight.data(), static_cast<std::size_t>(layer.weight.size())));
    }
    return writer.take();
  }

 private:
  static void write(ByteWriter& writer, const Vector& values) {
    writer.put_all(std::span(values.data(), static_cast<std::size_t>(values.size())));
  }
  static void read(ByteReader& reader, Vector& values) {
    const std::vector<float> numbers = reader.get_all<float>();
    values = Eigen::Map<const Vector>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
  }

  int integer(const char* option) const { return static_cast<int>(context_.options.at(option)); }

  void standardise(const FeatureMatrix& features) {
    const std::size_t columns = features.columns();
    std::vector<double> count(columns), sum(columns), squares(columns);
    for (std::size_t row = 0; row < features.rows(); ++row) {
      const std::span<const float> values = features.row(row);
      for (std::size_t c = 0; c < columns; ++c) {
        if (std::isnan(values[c])) continue;
        count[c] += 1, sum[c] += values[c], squares[c] += static_cast<double>(values[c]) * values[c];
      }
    }
    mean_ = Vector::Zero(static_cast<Eigen::Index>(columns));
    scale_ = mean_;  // a column that never changes tells nothing: 0
    for (std::size_t c = 0; c < columns; ++c) {
      if (count[c] == 0) continue;
      const double mean = sum[c] / count[c], variance = squares[c] / count[c] - mean * mean;
      const auto at = static_cast<Eigen::Index>(c);
      mean_(at) = static_cast<float>(mean);
      if (variance > 1e-10) scale_(at) = static_cast<float>(1 / std::sqrt(variance));
    }
  }

  void put(std::span<const float> row, Matrix& inputs, Eigen::Index column) const {
    for (Eigen::Index c = 0; c < mean_.size(); ++c) {
      const float value = row[static_cast<std::size_t>(c)];
      inputs(c, column) = std::isnan(value) ? 0.0F : std::clamp((value - mean_(c)) * scale_(c), -kFarthest, kFarthest);
    }
  }

  void learn(const TrainingSet& samples, const std::vector<std::size_t>& rows, Adam& adam, float rate) {
    const auto count = static_cast<Eigen::Index>(rows.size());
    Matrix inputs(mean_.size(), count);
    for (Eigen::Index i = 0; i < count; ++i) put(samples.features.row(rows[static_cast<std::size_t>(i)]), inputs, i);
    std::vector<Matrix> activations;
    const Vector scores = network_.scores(inputs, &activations);
    const PairwiseLoss loss{context_.options.at("sharpness"), context_.options.at("squared")};
    Vector slope = Vector::Zero(count);
    float pairs = 0;
    for (Eigen::Index i = 0; i < count; ++i) {
      const std::size_t better = rows[static_cast<std::size_t>(i)];
      for (Eigen::Index j = 0; j < count; ++j) {
        const double apart = samples.scores[better] - samples.scores[rows[static_cast<std::size_t>(j)]];
        if (apart <= 0) continue;
        const double gradient = loss.slope(static_cast<double>(scores(i)) - scores(j), apart).gradient;
        const auto pull = static_cast<float>(pair_weight(samples, better) * gradient);
        slope(i) += pull;
        slope(j) -= pull;
        pairs += 1;
      }
    }
    if (pairs == 0) return;
    adam.step(network_, network_.gradients(activations, slope / pairs), rate,
              static_cast<float>(context_.options.at("decay")));
  }

  CostModelContext context_;
  Network network_;
  Vector mean_, scale_;
};

std::unique_ptr<CostModel> make(const CostModelContext& context) { return std::make_unique<MlpModel>(context); }
std::unique_ptr<CostModel> load(std::string_view bytes) { return std::make_unique<MlpModel>(bytes); }

}  // namespace

CostModelInfo mlp_model() {
  return {"mlp",
          "a small neural network that learns the order within each task",
          {{"hidden", 64, 1, 4096, "units of a layer", true},
           {"layers", 2, 1, 16, "hidden layers", true},
           {"epochs", 60, 1, 100000, "passes over what is learned from", true},
           {"batch", 64, 2, 4096, "rows of one task that are compared with each other at a time", true},
           {"rate", 2e-3, 1e-7, 1, "learning rate at the start"},
           {"decay", 1e-2, 0, 10, "weight decay"},
           {"sharpness", 3, 0.01, 1000, "of the logistic loss: how soon a difference of scores is clear"},
           {"squared", 0.3, 0, 100, "share of the squared error of differences"}},
          make,
          load};
}

}  // namespace temper::cost
