// SPDX-License-Identifier: MIT
// For bundles whose runtime comes from elsewhere.
export default null;
