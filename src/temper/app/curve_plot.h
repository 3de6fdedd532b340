// Curves with bands as an SVG picture: panels in a grid, one legend, logarithmic y.
#pragma once

#include <string>
#include <vector>

namespace temper::app {

/// A line and the band around it; all vectors have the length of `x`. An empty `low` means no band.
struct PlotSeries {
  std::string name;  ///< the same in all panels: its colour and its entry of the legend
  std::vector<double> x, y, low = {}, high = {};
  bool dashed = false;
};

struct PlotPanel {
  std::string title, x_label, y_label;
  std::vector<PlotSeries> series;
  double y_limit = 0;  ///< larger values are drawn at the upper edge; 0: there are none
};

/// The panels row by row, `columns` in a row. y values must be above 0. The picture needs no other file.
std::string plot_svg(const std::string& title, const std::vector<PlotPanel>& panels, int columns);

}  // namespace temper::app
