/** The environment of a command line without some of the optional packages. */
export function without(...packages: readonly string[]): NodeJS.ProcessEnv {
  const program = new URL('programs/without-packages.ts', import.meta.url)
  return { WITHOUT: packages.join(','), NODE_OPTIONS: `--import=${program.href}` }
}
