/** An AWS Lambda function bundled into one file: minified, with all packages, without Node's own modules. */
import { join } from 'node:path'
import { build } from 'vite'

const ROOT = join(import.meta.dirname, '../..')

/** The receiver, its handler, and a store that makes sense there; the client is never called. */
export function sourceOfFunction(): string {
  const from = (file: string): string => JSON.stringify(join(ROOT, 'dist', file))
  return `
import { createReceiver } from ${from('index.js')}
import { lambdaHandler } from ${from('http/lambda.js')}
import { redisStore } from ${from('stores/redis/store.js')}
const methods = ['connect', 'close', 'destroy', 'duplicate', 'on', 'off', 'sendCommand', 'subscribe', 'withTypeMapping']
const client = { isOpen: false, isReady: false, ...Object.fromEntries(methods.map((name) => [name, () => {}])) }
const receiver = createReceiver({ credentials: { authKey: 'a key' }, store: redisStore({ client }), logger: false })
export const handler = lambdaHandler(receiver, 'status')
`
}

interface Bundle {
  readonly code: string
  /** The files that the bundle contains. */
  readonly modules: readonly string[]
  /** The modules that it still imports. */
  readonly imports: readonly string[]
}

/** Bundles the output of `npm run build`. */
export async function bundleFunction(): Promise<Bundle> {
  const built = await build({
    configFile: false,
    root: ROOT,
    logLevel: 'silent',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      // Code that is loaded on demand (the doctor) goes into the same file.
      rolldownOptions: { input: 'virtual:function', output: { codeSplitting: false, entryFileNames: 'index.mjs' } },
      write: false,
      minify: true,
      target: 'node22',
    },
    plugins: [
      {
        name: 'function',
        resolveId: (id) => (id === 'virtual:function' ? id : undefined),
        load: (id) => (id === 'virtual:function' ? sourceOfFunction() : undefined),
      },
    ],
  })
  const [output] = [built].flat()
  if (output === undefined || !('output' in output)) throw new Error('Nothing was bundled.')
  const chunks = output.output.filter((part) => part.type === 'chunk')
  const [first, ...more] = chunks
  if (first === undefined || more.length > 0) throw new Error(`The bundle has ${chunks.length} files.`)
  return {
    code: first.code,
    modules: first.moduleIds.filter((id) => id.startsWith(ROOT)).map((id) => id.slice(ROOT.length + 1)),
    imports: [...first.imports, ...first.dynamicImports].filter((name) => name !== first.fileName),
  }
}
