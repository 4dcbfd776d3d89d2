/**
 * `npm run build`: makes `dist` from `src`, and nothing where it is made already. What is there is compared by its content with
 * what was made: so nothing in `dist` is ever stale, left behind by a file that is gone, or changed by somebody else.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import type { Plugin, Rolldown } from 'vite'

const ROOT = import.meta.dirname
const DIST = join(ROOT, 'dist')
/** In `dist`, so that it goes with it. It is not packed. */
const STAMP = 'dist/.built.json'
/** All that decides what is made; the lock file stands for the compiler. */
const INPUTS = [
  'src/**/*',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.page.json',
  'package.json',
  'package-lock.json',
  'build.ts',
]
/** What a browser runs. */
const PAGE = 'inspector/page'
/** The file of the SQLite thread. */
const THREAD = 'dist/sqlite/worker.js'
/** What the page is bundled with. */
const BUNDLED = ['preact', 'htm']

/** One digest of all these files, with their names. */
function digestOf(patterns: readonly string[]): string {
  const hash = createHash('sha256')
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  for (const path of paths) {
    const file = join(ROOT, path)
    if (!statSync(file).isFile()) continue
    const content = readFileSync(file)
    hash.update(`${path}\n${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/** `dist/**` leaves the stamp out, whose name begins with a dot. */
function digests(): string {
  return JSON.stringify({ inputs: digestOf(INPUTS), outputs: digestOf(['dist/**/*']) })
}

function isBuilt(): boolean {
  const stamp = join(ROOT, STAMP)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === digests()
}

async function build(): Promise<number> {
  console.error('Building dist, which takes some seconds; it is left as it is until something in src changes.')
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
  if (!compile('tsconfig.build.json', '--emitDeclarationOnly')) return 1
  // Doc comments are in the types, which editors show, and not a second time in the code.
  if (!compile('tsconfig.build.json', '--declaration', 'false', '--removeComments', '--noCheck')) return 1
  if (!(await publishPage())) return 1
  if (!(await publishCommonJs())) return 1
  await publishModules()
  // npm does so where it installs the package; here `npx messaging-webhooks` runs it from where it is.
  const command = join(ROOT, 'dist/cli/main.js')
  if (existsSync(command)) chmodSync(command, 0o755)
  writeFileSync(join(ROOT, STAMP), digests())
  return 0
}

function compile(project: string, ...flags: readonly string[]): boolean {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', project, ...flags], { cwd: ROOT, stdio: 'inherit' }).status === 0
}

/** The inspector's page: one module with its view library, whose licences stand beside it, and its style. */
async function publishPage(): Promise<boolean> {
  const sources = join(ROOT, 'src', PAGE)
  if (!existsSync(sources)) return true
  if (!compile('tsconfig.page.json')) return false
  const folder = join(ROOT, 'dist', PAGE)
  const { build: bundle } = await import('vite')
  await bundle({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    plugins: [
      {
        name: 'templates',
        // Of templates: no text of the page has a line end that matters, and words need no quotes.
        transform: (code, id) =>
          id.startsWith(sources) && id.endsWith('.ts')
            ? code.replace(/\n\s+/g, '\n').replace(/(?<=[>}])\n(?=<|\$\{)| (?=\/>)|(?<=\s[\w-]+=)"([\w-]+)"/g, '$1')
            : undefined,
        enforce: 'pre',
      },
    ],
    build: {
      outDir: folder,
      emptyOutDir: false,
      target: 'es2023',
      modulePreload: false,
      minify: true,
      // Of these days: nothing is rewritten for older ones.
      cssTarget: ['chrome125', 'firefox128', 'safari17.5'],
      rolldownOptions: {
        input: [join(sources, 'main.ts'), join(sources, 'style.css')],
        output: { format: 'es', entryFileNames: 'main.js', assetFileNames: '[name][extname]' },
      },
    },
  })
  for (const name of ['index.html', 'icon.svg'])
    writeFileSync(join(folder, name), readFileSync(join(sources, name), 'utf8').replace(/^ +/gm, ''))
  const licences = BUNDLED.map((name) => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
      readonly version: string
    }
    return `${name} ${version}\n\n${readFileSync(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8')}`
  })
  writeFileSync(join(ROOT, 'dist', dirname(PAGE), 'licences.txt'), licences.join('\n\n'))
  return true
}

/** An entry of the package, for those that cannot require ES modules. */
interface CommonJsEntry {
  /** Of its files in `dist/cjs`, without the extension. */
  readonly name: string
  /** The paths of the ES module, and of its types. */
  readonly module: string
  readonly types: string
}

interface Manifest {
  readonly exports: Readonly<
    Record<
      string,
      string | { readonly require: { readonly default: string }; readonly types: string; readonly default: string }
    >
  >
  readonly bin?: Readonly<Record<string, string>>
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
}

function commonJsEntries(): readonly CommonJsEntry[] {
  return Object.values(readManifest().exports).flatMap((entry) =>
    typeof entry === 'string'
      ? []
      : [{ name: basename(entry.require.default, '.cjs'), module: entry.default, types: entry.types }],
  )
}

/**
 * What Jest, and TypeScript under `node16`, require. Node itself takes the ES modules for `require` too (`module-sync`), so that a
 * process never has both.
 */
async function publishCommonJs(): Promise<boolean> {
  const entries = commonJsEntries()
  const folder = join(ROOT, 'dist/cjs')
  const { build: bundle } = await import('vite')
  await bundle({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    plugins: [
      places((path) => `require('node:url').pathToFileURL(require('node:path').join(__dirname, ${path})).href`),
    ],
    build: {
      // The base from which what is external is found.
      outDir: DIST,
      emptyOutDir: false,
      ssr: true,
      target: 'es2023',
      rolldownOptions: {
        input: Object.fromEntries(entries.map(({ name, module }) => [name, join(ROOT, module)])),
        external: /^[^./]/,
        output: {
          format: 'cjs',
          // All in one folder, from which `withPlaceOf` leads back.
          entryFileNames: 'cjs/[name].cjs',
          chunkFileNames: 'cjs/[name]-[hash].cjs',
          // Stacks show the names of classes.
          minify: {
            mangle: { keepNames: { class: true, function: false } },
            compress: { keepNames: { class: true, function: false } },
          },
          // Jest has no `import()` without a flag.
          dynamicImportInCjs: false,
        },
      },
    },
  })
  return publishTypes(entries, folder)
}

/**
 * Joins the ES modules: a file for each entry, and files of what entries share. Node.js spends 0.4 ms on each file that it loads,
 * and in a new thread 1.3 ms, so the thread is one file.
 */
async function publishModules(): Promise<void> {
  const all = globSync('dist/**/*.js', { cwd: ROOT, exclude: [`dist/${PAGE}/**`] })
  // The thread first: nothing imports it.
  const thread = existsSync(join(ROOT, THREAD)) ? await joined([THREAD], false) : []
  const groups = [{ name: joiner(), includeDependenciesRecursively: false }]
  const kept = new Set([...thread, ...(await joined(entries(), { groups }))].map((fileName) => `dist/${fileName}`))
  for (const path of all) if (!kept.has(path)) rmSync(join(ROOT, path))
}

/** Replaces ES modules by what they become part of. Returns the files, from `dist`. */
async function joined(
  paths: readonly string[],
  codeSplitting: false | Rolldown.CodeSplittingOptions,
): Promise<readonly string[]> {
  const { build: bundle } = await import('vite')
  const output = await bundle({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    plugins: [places((path) => `URL.parse(${path}, import.meta.url)?.href`)],
    build: {
      outDir: DIST,
      emptyOutDir: false,
      ssr: true,
      target: 'es2023',
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(
          paths.map((path) => [relative('dist', path).slice(0, -'.js'.length), join(ROOT, path)]),
        ),
        external: /^[^./]/,
        output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: 'shared/[name].js', codeSplitting },
      },
    },
  })
  return [output].flat().flatMap((part) => ('output' in part ? part.output.map(({ fileName }) => fileName) : []))
}

/** The loads of an application. Modules that the same of these need become one file. */
const LOADS: Readonly<Record<string, readonly string[]>> = {
  root: ['index.js'],
  sqlite: ['stores/sqlite/store.js'],
  servers: ['stores/postgres/store.js', 'stores/mysql/store.js', 'stores/redis/store.js', 'store.js'],
  adapters: ['http/fetch.js', 'http/lambda.js', 'http/fastify.js'],
  client: ['client/index.js'],
  otel: ['otel/index.js'],
}
/** Runs before everything else. `sideEffects` of package.json names its file. */
const FIRST = 'dist/runtime/supported-node.js'

/** Names the file of a module. Undefined for what the root does not need: the other loads do not need each other. */
function joiner(): Rolldown.CodeSplittingNameFunction {
  let names: ReadonlyMap<string, string> | undefined
  return (id, context) => {
    names ??= namesOf((module) => context.getModuleInfo(module)?.importedIds ?? [])
    const name = id === join(ROOT, FIRST) ? undefined : names.get(id)
    return name?.startsWith('root') ? name : undefined
  }
}

function namesOf(importsOf: (id: string) => readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const [load, paths] of Object.entries(LOADS)) {
    const reached = new Set(paths.map((path) => join(DIST, path)))
    for (const id of reached) for (const imported of importsOf(id)) reached.add(imported)
    for (const id of reached) names.set(id, names.has(id) ? `${names.get(id)}-${load}` : load)
  }
  return names
}

/** The modules that stay files of their own: the exports of the package, and its command. */
function entries(): readonly string[] {
  const { exports, bin = {} } = readManifest()
  const exported = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]))
  return [...exported, ...Object.values(bin)].map((path) => join(path)).filter((path) => existsSync(join(ROOT, path)))
}

/**
 * What a module finds beside itself (a worker, a page, the manifest) stays where it is. `urlOf` is code for the URL of a path from
 * the folder of the file that the module becomes part of, a string literal.
 */
function places(urlOf: (path: string) => string): Plugin {
  return {
    name: 'places',
    enforce: 'pre',
    transform: (code, id) => code.replaceAll('import.meta.url', `PLACE_OF(${JSON.stringify(relative(DIST, id))})`),
    renderChunk: (code, { fileName }) =>
      code.replace(/PLACE_OF\(["'](.+?)["']\)/g, (_, place: string) =>
        urlOf(JSON.stringify(relative(dirname(fileName), place))),
      ),
  }
}

/**
 * The types for `require` are those of the ES modules, named one by one: a second declaration of a class would be another class.
 * Removes types that no entry leads to.
 */
async function publishTypes(entries: readonly CommonJsEntry[], folder: string): Promise<boolean> {
  const { default: ts } = await import('typescript')
  const options = { module: ts.ModuleKind.NodeNext, types: ['node'], skipLibCheck: true }
  const program = ts.createProgram(
    entries.map(({ types }) => join(ROOT, types)),
    options,
  )
  const checker = program.getTypeChecker()
  const esm = `{ 'resolution-mode': 'import' }`
  for (const { name, module, types } of entries) {
    const from = relative(folder, join(ROOT, module))
    const file = program.getSourceFile(join(ROOT, types))
    const symbol = file && checker.getSymbolAtLocation(file)
    if (symbol === undefined) return false
    const lines = [`export type * from '${from}' with ${esm};`]
    for (const exported of checker.getExportsOfModule(symbol)) {
      const { flags } = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (!(flags & ts.SymbolFlags.Value)) continue
      const place = `import('${from}', { with: ${esm} }).${exported.name}`
      lines.push(`export declare const ${exported.name}: typeof ${place};`)
      if (flags & ts.SymbolFlags.Type) lines.push(`export type ${exported.name} = ${place};`)
    }
    writeFileSync(join(folder, `${name}.d.cts`), `${lines.join('\n')}\n`)
  }
  for (const path of globSync('dist/**/*.d.ts', { cwd: ROOT }))
    if (program.getSourceFile(join(ROOT, path)) === undefined) rmSync(join(ROOT, path))
  return true
}

if (!isBuilt()) process.exitCode = await build()
