/** The environment of a command line that has not got some of the optional packages. */
export function without(...packages: readonly string[]): NodeJS.ProcessEnv {
  const program = new URL('programs/without-packages.ts', import.meta.url)
  return { WITHOUT: packages.join(','), NODE_OPTIONS: `--import=${program.href}` }
}
