#!/usr/bin/env bash
# sinew stats anova against R (Debian: r-base-core): aov for balanced data, drop1 with sum-to-zero contrasts (type III) for
# unbalanced, and Scheffe's test from R's own pf and qf.
set -u
command -v Rscript >/dev/null || { echo "skipped: Rscript is not here (Debian: r-base-core)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

cat > check.R <<'END'
# Rows of a table: name, value.
args <- commandArgs(TRUE)
tool <- args[1]
worst <- 0
failed <- 0

# Numbers of the report by a pattern of its indented JSON: R's base has no JSON.
field <- function(lines, object, name) {
  at <- grep(paste0('^ *"', object, '": \\{'), lines)[1]
  line <- lines[at:length(lines)][grep(paste0('"', name, '": '), lines[at:length(lines)])[1]]
  as.numeric(sub(",$", "", sub(".*: ", "", line)))
}
pairs_of <- function(lines, object, name) {
  at <- grep('"post_hoc": \\{', lines)
  at <- at + grep(paste0('^ *"', object, '": \\{'), lines[at:length(lines)])[1]
  end <- at + grep('^      \\}', lines[at:length(lines)])[1]
  rows <- grep(paste0('"', name, '": '), lines[at:end], value = TRUE)
  as.numeric(sub(",$", "", sub(".*: ", "", rows)))
}
compare <- function(what, ours, theirs) {
  error <- max(abs(ours - theirs) / (abs(theirs) + 1e-12))
  worst <<- max(worst, error)
  if (!(error < 1e-7)) {
    failed <<- failed + 1
    cat("FAILED:", what, "ours", format(ours, digits = 12), "R", format(theirs, digits = 12), "\n")
  }
}

set.seed(8)
options(contrasts = c("contr.sum", "contr.poly"))
for (trial in 1:8) {
  a <- sample(2:4, 1); b <- sample(2:4, 1); balanced <- trial %% 2 == 0
  grid <- expand.grid(i = 1:a, j = 1:b)
  n <- if (balanced) rep(sample(3:30, 1), a * b) else sample(2:30, a * b, TRUE)
  d <- grid[rep(1:(a * b), n), ]
  d$y <- 0.01 + 0.002 * d$i - 0.001 * d$j * (d$i == 2) + 0.004 * rnorm(nrow(d))
  d <- data.frame(f_r = factor(paste0("r", d$i)), f_s = factor(paste0("s", d$j)), value = d$y)
  file <- paste0("data", trial, ".csv")
  options(digits = 17)
  write.csv(d, file, row.names = FALSE)
  d <- read.csv(file, stringsAsFactors = TRUE)
  lines <- system2(tool, c("stats", "anova", file, "--json", "-"), stdout = TRUE)
  fit <- aov(value ~ f_r * f_s, d)
  mse <- deviance(fit) / df.residual(fit)
  table <- drop1(fit, . ~ ., test = "F")[c("f_r", "f_s", "f_r:f_s"), ]
  if (balanced) compare("aov and drop1", summary(fit)[[1]][1:3, "F value"], table[, "F value"])
  for (k in 1:3) {
    object <- c("first", "second", "interaction")[k]
    what <- paste(file, object)
    compare(what, field(lines, object, "ss"), table[k, "Sum of Sq"])
    compare(what, field(lines, object, "f"), table[k, "F value"])
    compare(what, field(lines, object, "p"), table[k, "Pr(>F)"])
    compare(what, field(lines, object, "df_error"), df.residual(fit))
    compare(what, field(lines, object, "partial_eta2"), table[k, "Sum of Sq"] / (table[k, "Sum of Sq"] + deviance(fit)))
  }
  cells <- tapply(d$value, list(d$f_r, d$f_s), mean)
  counts <- tapply(d$value, list(d$f_r, d$f_s), length)
  for (k in 1:2) {
    g <- c(a, b)[k]
    means <- apply(cells, k, mean)
    variance <- apply(1 / counts, k, sum) / c(b, a)[k]^2
    two <- combn(g, 2)
    fs <- (means[two[1, ]] - means[two[2, ]])^2 / (mse * (variance[two[1, ]] + variance[two[2, ]]) * (g - 1))
    critical <- sqrt((g - 1) * qf(0.95, g - 1, df.residual(fit)) * mse * (variance[two[1, ]] + variance[two[2, ]]))
    object <- c("first", "second")[k]
    compare(paste(file, "Scheffe"), pairs_of(lines, object, "f"), fs)
    compare(paste(file, "Scheffe p"), pairs_of(lines, object, "p"), pf(fs, g - 1, df.residual(fit), lower.tail = FALSE))
    compare(paste(file, "Scheffe critical"), pairs_of(lines, object, "critical"), critical)
  }
}
cat("largest relative difference to R", format(worst, digits = 3), "\n")
quit(status = failed > 0)
END
Rscript --vanilla check.R "$SINEW"
