/** An application in one file, bundled as for a deployment. */
import { join } from 'node:path'
import { build } from 'vite'

/** Bundles `entry` of a folder, with all its imports except Node's own modules, into a file; returns its path. */
export async function bundle(folder: string, entry: string, file: string, isSmall = false): Promise<string> {
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: entry,
      outDir: 'dist',
      emptyOutDir: false,
      minify: isSmall,
      target: 'es2023',
      rolldownOptions: { output: { entryFileNames: file, codeSplitting: false } },
    },
  })
  return join(folder, 'dist', file)
}
