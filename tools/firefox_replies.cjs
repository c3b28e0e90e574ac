// Debian's Firefox does not know one command that Playwright sends for each new page: the colour scheme. This is
// required into Playwright's own Node, and turns Firefox's refusal of that command into an empty reply.

const parse = JSON.parse;
const UNKNOWN = "emulation.setMediaFeaturesOverride";

JSON.parse = (text, ...more) => {
    const found = parse(text, ...more);
    if (found?.type === "error" && found.error === "unknown command" && found.message.includes(UNKNOWN)) {
        return { type: "success", id: found.id, result: {} };
    }
    return found;
};
