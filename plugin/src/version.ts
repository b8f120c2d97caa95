/** Version of the plugin as `plugin/build.ts` takes it from package.json; `0.0.0-source` when run unbuilt. */

declare const __PLUGIN_VERSION__: string | undefined

/** Sent with every batch as `instance.plugin`. */
export const VERSION: string = typeof __PLUGIN_VERSION__ === "string" ? __PLUGIN_VERSION__ : "0.0.0-source"
