# shellcheck shell=bash
# Lays out two GPUs of AMD where the kernel has those of a machine: source amd.sh, then amd_gpus FOLDER, which stands for
# /sys/bus/pci.

amd_gpus() {
  local bus=$1 id card
  put() { mkdir -p "$(dirname -- "$card/$1")" && printf '%s\n' "$2" >"$card/$1"; }
  for id in 0000:03:00.0 0000:43:00.0; do
    card=$bus/devices/$id
    put uevent $'DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=1002:74A1\nPCI_SUBSYS_ID=1002:74A1\nPCI_SLOT_NAME='"$id"
    put vendor 0x1002
    put product_name 'AMD Instinct MI300X OAM'
    put power/runtime_status active
    put gpu_busy_percent 97
    put mem_busy_percent 41
    put mem_info_vram_total 206141652992
    put mem_info_vram_used 103070826496
    put mem_info_gtt_total 270000000000
    put mem_info_gtt_used 14000000
    put hwmon/hwmon4/name amdgpu
    put hwmon/hwmon4/power1_average 540000000
    put hwmon/hwmon4/power1_cap 750000000
    put hwmon/hwmon4/power1_cap_default 750000000
    put hwmon/hwmon4/power1_cap_max 750000000
    put hwmon/hwmon4/temp1_label junction
    put hwmon/hwmon4/temp1_input 61000
    put hwmon/hwmon4/temp1_crit 100000
    put hwmon/hwmon4/temp2_label mem
    put hwmon/hwmon4/temp2_input 47000
    put hwmon/hwmon4/temp2_crit 105000
    put current_link_speed '32.0 GT/s PCIe'
    put max_link_speed '32.0 GT/s PCIe'
    put current_link_width 16
    put max_link_width 16
    put ras/features 'feature mask: 0x1'
    put ras/umc_err_count $'ue: 0\nce: 0\nde: 0'
    put ras/gpu_vram_bad_pages '0x00000001 : 0x00001000 : R'
    put ras/xgmi_wafl_err_count $'ue: 0\nce: 0'
    put xgmi_device_id "${id//[^0-9]/}"
    put xgmi_hive_info/xgmi_hive_id 1234567
    put xgmi_num_hops '0 0'
    put xgmi_num_links '0 0'
    # Links only lead to where a check may read within the kernel's own /sys.
    mkdir -p "$bus/drivers/amdgpu"
    cp -r "$card" "$bus/drivers/amdgpu/"
    ln -s ../../drivers/amdgpu "$card/driver"
  done
}
