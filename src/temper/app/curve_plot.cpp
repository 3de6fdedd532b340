#include "temper/app/curve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace temper::app {

namespace {

// Colours that people who do not see all colours can tell apart (Okabe and Ito, 2008).
constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933"};
constexpr const char* kDashedColour = "#777777";
constexpr double kPanelWidth = 460, kPanelHeight = 280;
constexpr double kLeft = 62, kRight = 16, kTop = 34, kBottom = 44, kHeader = 64;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

/// Names in the order in which panels show them first.
std::vector<PlotSeries> legend(const std::vector<PlotPanel>& panels) {
  std::vector<PlotSeries> result;
  for (const PlotPanel& panel : panels) {
    for (const PlotSeries& series : panel.series) {
      const bool known =
          std::any_of(result.begin(), result.end(), [&](const PlotSeries& s) { return s.name == series.name; });
      if (!known) result.push_back(series);
    }
  }
  return result;
}

std::string colour_of(const std::vector<PlotSeries>& names, const PlotSeries& series) {
  if (series.dashed) return kDashedColour;
  std::size_t number = 0;
  for (const PlotSeries& one : names) {
    if (one.name == series.name) break;
    number += one.dashed ? 0 : 1;
  }
  return kColours[number % kColours.size()];
}

/// 1, 2 or 5 times a power of ten, so that about `count` of them fill the range.
double nice_step(double range, double count) {
  const double rough = range / count, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

class PanelDrawing {
 public:
  PanelDrawing(const PlotPanel& panel, double left, double top) : panel_(panel), left_(left), top_(top) {
    for (const PlotSeries& series : panel.series) {
      for (const double x : series.x) x_.add(x);
      for (const auto* values : {&series.y, &series.low, &series.high}) {
        for (const double y : *values) y_.add(y);
      }
    }
    x_.low = std::min(x_.low, 0.0);
    if (panel.y_limit > 0) y_.high = std::min(y_.high, panel.y_limit);
    if (!(y_.high > y_.low)) y_ = {y_.low * 0.9, y_.low * 1.1};
  }

  std::string draw(const std::vector<PlotSeries>& names) const {
    std::string svg = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#333\"/>\n",
        left_ + kLeft, top_ + kTop, width(), height());
    svg += text_at(left_ + kLeft, top_ + kTop - 8, "start", panel_.title, " font-weight=\"bold\"");
    svg += text_at(left_ + kLeft + width() / 2, top_ + kPanelHeight - 8, "middle", panel_.x_label);
    const double middle = top_ + kTop + height() / 2;
    svg += text_at(left_ + 14, middle, "middle", panel_.y_label,
                   fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", left_ + 14, middle).c_str());
    if (!(x_.high > x_.low)) return svg;  // nothing is drawn
    svg += ticks();
    for (const PlotSeries& series : panel_.series) svg += curve(series, colour_of(names, series));
    return svg;
  }

 private:
  static double width() { return kPanelWidth - kLeft - kRight; }
  static double height() { return kPanelHeight - kTop - kBottom; }
  double place_x(double x) const { return left_ + kLeft + (x - x_.low) / (x_.high - x_.low) * width(); }
  double place_y(double y) const {
    const double share = std::min(1.0, std::log(y / y_.low) / std::log(y_.high / y_.low));
    return top_ + kTop + (1 - share) * height();
  }

  std::string ticks() const {
    std::string svg;
    const double step = nice_step(x_.high - x_.low, 5);
    for (double x = 0; x <= x_.high * (1 + 1e-9); x += step) {
      svg += text_at(place_x(x), top_ + kTop + height() + 15, "middle", fmt::format("{:g}", x));
      svg += grid(place_x(x), top_ + kTop, place_x(x), top_ + kTop + height());
    }
    // Round numbers at least 18 pixels apart, from the bottom up.
    double last = std::numeric_limits<double>::infinity();
    for (double power = std::pow(10.0, std::floor(std::log10(y_.low))); power <= y_.high; power *= 10) {
      for (const double factor : {1.0, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 7.0}) {
        const double y = factor * power;
        if (y < y_.low * (1 - 1e-9) || y > y_.high || last - place_y(y) < 18) continue;
        last = place_y(y);
        svg += text_at(left_ + kLeft - 6, last + 4, "end", fmt::format("{:g}", y));
        svg += grid(left_ + kLeft, last, left_ + kLeft + width(), last);
      }
    }
    return svg;
  }

  static std::string grid(double x1, double y1, double x2, double y2) {
    return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
  }

  std::string points(const std::vector<double>& x, const std::vector<double>& y, bool backwards) const {
    // More points than pixels would only make the file large.
    const std::size_t stride = std::max<std::size_t>(1, x.size() / 400);
    std::string path;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % stride != 0 && i + 1 != x.size()) continue;
      const std::string point = fmt::format("{:.1f} {:.1f} ", place_x(x[i]), place_y(y[i]));
      path = backwards ? point + path : path + point;
    }
    return path;
  }

  std::string curve(const PlotSeries& series, const std::string& colour) const {
    if (series.x.empty()) return "";
    std::string svg;
    if (!series.low.empty()) {
      svg += fmt::format("<polygon points=\"{}{}\" fill=\"{}\" opacity=\"0.18\"/>\n",
                         points(series.x, series.low, false), points(series.x, series.high, true), colour);
    }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n",
                       points(series.x, series.y, false), colour, series.dashed ? " stroke-dasharray=\"5 4\"" : "");
    return svg;
  }

  const PlotPanel& panel_;
  double left_, top_;
  Range x_, y_;
};

}  // namespace

std::string plot_svg(const std::string& title, const std::vector<PlotPanel>& panels, int columns) {
  const std::vector<PlotSeries> names = legend(panels);
  const auto count = static_cast<int>(panels.size());
  const int rows = (count + columns - 1) / columns;
  const double width = kPanelWidth * columns, height = kHeader + kPanelHeight * rows;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  svg += text_at(16, 24, "start", title, " font-size=\"15\" font-weight=\"bold\"");
  double x = 16;
  for (const PlotSeries& series : names) {
    svg += fmt::format("<path d=\"M{:.1f} 45L{:.1f} 45\" stroke=\"{}\" stroke-width=\"2.5\"{}/>\n", x, x + 24,
                       colour_of(names, series), series.dashed ? " stroke-dasharray=\"5 4\"" : "");
    svg += text_at(x + 30, 49, "start", series.name);
    x += 52 + 6.5 * static_cast<double>(series.name.size());
  }
  for (int i = 0; i < count; ++i) {
    const int row = i / columns, column = i % columns;
    const PanelDrawing panel(panels[static_cast<std::size_t>(i)], kPanelWidth * column, kHeader + kPanelHeight * row);
    svg += panel.draw(names);
  }
  return svg + "</svg>\n";
}

}  // namespace temper::app
